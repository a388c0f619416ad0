"""Words around personal names: titles and offices, kin and roles, what is named after people but is nobody.

All lower-case. The lists are ours; given names themselves are in `gazetteers.given_names`.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(",")) - {""}


TITLES = _words(
    "mr mrs ms miss mx mister missus señor señora señorita senor senora monsieur madame herr frau"
)

# What follows a title without being a name.
NOT_TITLED = _words(
    "president speaker chairman chairwoman chairperson chair chief justice secretary market magazine right robot "
    "ambassador mayor moderator clean universe america world manners usa piggy chancellor prime vice attorney "
    "solicitor senator governor judge and or the who what when where why how payments deadlines out"
)

# Titles of people who act in office; their plurals reach over "and".
OFFICES = _words(
    "dr doctor prof professor judge justice magistrate hon honorable honourable sen senator rep representative "
    "congressman congresswoman governor gov president mayor secretary minister chancellor ambassador commissioner "
    "general agent officer detective det sgt sergeant lt lieutenant capt captain col colonel maj major cpl "
    "corporal sheriff deputy trooper inspector chief marshal marshall king queen prince princess duke duchess "
    "emperor pope saint sir lord lady dame rev reverend father sister brother rabbi imam pastor bishop archbishop "
    "cardinal nurse practitioner surgeon coroner registrar clerk counselor dean principal provost ombudsman "
    "examiner referee arbitrator prosecutor superintendent warden chaplain administrator"
)
OFFICES_PLURAL = _words(
    "drs doctors profs professors judges justices magistrates senators representatives governors presidents "
    "secretaries agents officers detectives sergeants deputies nurses surgeons kings queens saints sisters "
    "fathers"
)

# Names of places and storms, not of people, begin with these.
PLACE_HEADS = _words(
    "st saint san santa santo são mount mt fort ft lake port point cape camp hurricane storm cyclone typhoon "
    "tropical north south east west new upper lower river isle king's queen's university college"
)

SUFFIXES = _words(
    "jr sr ii iii iv"
)
CREDENTIALS = (
    r"M\.?D\b|D\.?O\b|Ph\.?D\b|R\.?N\b|N\.?P\b|P\.?A(?:-C)?\b|D\.?D\.?S\b|D\.?M\.?D\b|Pharm\.?D\b|Psy\.?D\b|"
    r"B\.?S\.?N\b|M\.?S\.?N\b|D\.?N\.?P\b|A?P\.?R\.?N\b|L\.?C\.?S\.?W\b|M\.?P\.?H\b|F\.?A\.?C\.?[A-Z]\b|"
    r"C\.?\s?J\b|J\.(?!D)|M\.?B\.?B\.?S\b"
)

COMMON = _words(
    "the this that these those he she his her hers him they them their it its in on at for and but or nor if when "
    "while after before because since although though however therefore thus also as by from to with without you "
    "your i we our my me us is are was were be been has have had do does did can could should would will may "
    "might must shall not no yes please what who whose whom how why where which a an of then there here so such "
    "some any all both each every once until unless upon about over under again still just only even very more "
    "most less than too one two three monday tuesday wednesday thursday friday saturday sunday january february "
    "march april june july august september october november december today yesterday tomorrow spring summer fall "
    "autumn winter question answer note patient client plaintiff defendant mr mrs ms dr et al vs ok hi hello dear "
    "thanks thank regards sincerely"
)

# What a capitalised sequence with one of these is: an institution, a place, a law, a test, an award, a product.
THINGS = _words(
    "hospital hospitals clinic clinics medical medicine center centre university college school institute "
    "institution foundation fund funds trust bank bancorp inc llc llp ltd plc corp corporation company companies "
    "co group partners associates capital financial finance investments investment securities insurance holdings "
    "stores store airlines motors energy pharmaceuticals pharma laboratories laboratory labs foods brothers bros "
    "press publishing journal times review museum library church cathedral parish street avenue ave road rd drive "
    "boulevard blvd highway parkway square plaza park county city town township village island islands river lake "
    "creek bay beach valley mountain mountains hill hills heights falls springs airport station bridge stadium "
    "arena hall house tower building hotel inn act law laws rule rules code statute amendment doctrine clause "
    "test tests standard factors hearing motion order warning warnings rights decision opinion case syndrome "
    "disease disorder sign score scale scales index criteria criterion classification staging stage grade "
    "maneuver manoeuvre procedure operation technique method approach model theory theorem equation formula "
    "principle effect phenomenon reflex protocol regimen diet questionnaire inventory examination exam assessment "
    "interview ira plan account option award prize medal lecture scholarship fellowship program programme project "
    "initiative commission committee council court board bureau department office administration agency "
    "association society union club league team party government army navy academy conference report study trial "
    "series show film band day week month bible gospel edition bowl cup field fields forest gardens garden farm "
    "farms ranch estate estates manor reservation tribe nation state states republic kingdom province district "
    "region peninsula coast sea ocean canyon desert national international memorial regional community "
    "presbyterian methodist baptist lutheran catholic episcopal health healthcare hospice surgery cancer heart "
    "consulting services solutions systems technologies technology media entertainment records realty properties "
    "construction management advisors wealth asset mutual protocols guidelines guideline lymphoma palsy tumor "
    "tumour fracture bodies cells tissue ventures networks bookstore magazine network church's dictionary "
    "handbook textbook airways railroad"
)
# Things that are surnames too: "Jane Hill" is somebody, "Jane Hill Park" is not.
THINGS_AND_SURNAMES = _words(
    "park lake bay hill hills hall house day case law field fields forest price temple church parish rivers fall "
    "marsh bank banks lane bridges"
)
# Behind a name in small letters: what is named after people.
NAMED_AFTER = (
    r"(?:disease|syndrome|sign|test|testing|scale|score|criteria|criterion|classification|staging|stage|grade|"
    r"maneuver|manoeuvre|procedure|operation|technique|method|model|theory|theorem|equation|formula|principle|"
    r"effect|phenomenon|reflex|protocol|regimen|diet|questionnaire|inventory|doctrine|standard|factors|hearing|"
    r"motion|warnings?|rights|waiver|rule|law|act|amendment|clause|surgery|splint|bandage|tube|catheter|murmur|"
    r"pupil|fracture|palsy|lymphoma|ataxia|dystrophy|anemia|contracture|reaction|stain|dressing|collar|brace|"
    r"cells?|bodies|esophagus|disclosure|letter|immunity|plea|analysis|estimator|distribution|bond|plan|ira|"
    r"account|index|line|jeans|shoes|era|hospital|clinic|university|college|school|foundation|institute|center|"
    r"museum|award|prize)"
)

KIN = (
    r"(?:ex-)?(?:step|grand|great-grand|half-)?(?:husband|wife|spouse|partner|son|daughter|mother|father|mom|"
    r"mum|dad|brother|sister|sibling|child|children|parents?|twins?)(?:-in-law)?|sons|daughters|brothers|"
    r"sisters|aunt|uncle|cousins?|niece|nephew|grandma|grandpa|granny|boyfriend|girlfriend|fianc[eé]e?|widow|"
    r"widower|ex"
)
ROLES = (
    r"patients?|clients?|customers?|borrower|debtor|creditor|taxpayer|investor|retiree|veteran|survivor|victim|"
    r"witness|plaintiffs?|defendants?|petitioner|respondent|claimant|appellant|decedent|testator|beneficiary|"
    r"heir|guardian|ward|complainant|applicant|asylum seeker|inmate|parolee|suspect|tenant|landlord|landlady|"
    r"employee|employer|coworker|co-worker|colleague|boss|manager|supervisor|neighbou?r|friend|roommate|"
    r"classmate|student|pupil|teacher|caregiver|babysitter|nanny|resident|lawyer|attorney|accountant|advisor|"
    r"adviser|man|woman|boy|girl|lady|guy|gentleman|kid|infant|baby|toddler|newborn|teen|teenager|adolescent|"
    r"adult|person|individual|account holder|cardholder|member|subscriber|policyholder|insured|homeowner|"
    r"immigrant|refugee|worker|volunteer|participant|subject"
)
BELONGINGS = (
    r"chart|diagnosis|diagnoses|medications?|prescriptions?|symptoms|mrn|medical records?|records?|file|"
    r"surgery|treatment|blood (?:pressure|sugar|test)|test results|labs|biopsy|condition|pregnancy|cancer|"
    r"diabetes|depression|insurance|portfolio|salary|income|mortgage|credit score|tax return|bank account|"
    r"account|ssn|social security number|address|phone|phone number|e-?mail|employer|job|lawyer|attorney|"
    r"doctor|custody|divorce|case|probation|therapist|medical|date of birth|birthday|age|school|teacher|death|"
    r"funeral|retirement|pension|401\(k\)|ira"
)

# People and firms that answers name as everybody's: founders in firms' names, authors of the fields, heads of state,
# justices, and placeholders.
PUBLIC = _phrases(
    """
    john doe, jane doe, jane roe, john roe, richard roe, mary major, john q public, joe public, joe bloggs, baby
    doe, jane smith doe, john stiles, joe sixpack, average joe, charles schwab, edward jones, morgan stanley,
    raymond james, john hancock, fannie mae, freddie mac, sallie mae, ginnie mae, farmer mac, wells fargo,
    franklin templeton, arthur andersen, henry schein, mary kay, betty ford, henry ford, robert wood johnson, dana
    farber, martin marietta, jack daniel, jack russell, trader joe, frank russell, dow jones, john deere, stanley
    black, walter reed, mary lanning, george washington, george mason, james madison, john jay, johns hopkins,
    john hopkins, mary washington, william & mary, merrill lynch, goldman sachs, price waterhouse, ernst young,
    grant thornton, baker tilly, baker mckenzie, booz allen, marsh mclennan, louis vuitton, mercedes benz, calvin
    klein, ralph lauren, tommy hilfiger, michael kors, jones lang, cantor fitzgerald, thomson reuters, simon
    schuster, harper collins, wolters kluwer, ann arbor, baton rouge, corpus christi, monte carlo, philip morris,
    eli lilly, jim crow, jane crow, mary carter, don quixote, carol burnett, betty crocker, peter pan, robin hood,
    tom sawyer, mickey mouse, john wiley, van     buren, hong kong, san jose, virginia beach, ryan white, katie
    beckett, lilly ledbetter, megan law, jessica     law, leandra law, lou gehrig, tommy john, mary jane, guillain
    barre, guillain barré, marcus gunn, austin     flint, miller fisher, stevens johnson, billings clinic, hardy
    weinberg, kaplan meier, taft hartley, sherman     act, clayton act, dodd frank, sarbanes oxley, graham
    leach, glass steagall, smith wesson, miranda rights, magna carta, ave maria, santa claus, jesus christ, virgin
    mary, warren buffett, charlie munger, benjamin     graham, adam smith, john maynard keynes, milton friedman,
    john     bogle, jack bogle, eugene fama, harry     markowitz, william sharpe, dave ramsey, suze orman, bernie
    madoff, charles ponzi, jerome powell, janet yellen, ben bernanke, alan greenspan, elon musk, jeff bezos, bill
    gates, steve jobs, sigmund freud, carl jung, carl     rogers, aaron beck, albert ellis, marsha linehan, john
    bowlby, mary     ainsworth, jean piaget, erik erikson, abraham maslow, florence nightingale, alexander
    fleming, edward jenner, louis pasteur, joseph lister, william     osler, charles darwin, albert einstein,
    isaac newton, marie curie, dalai     lama, george w bush, george bush, bill clinton, hillary clinton, barack
    obama, donald trump, joe biden, kamala     harris, ronald reagan, jimmy     carter, gerald ford, richard
    nixon, lyndon johnson, john f kennedy, john kennedy, franklin roosevelt, franklin     d roosevelt, theodore
    roosevelt, woodrow wilson, abraham lincoln, thomas     jefferson, john adams, alexander     hamilton, benjamin
    franklin, andrew jackson, martin luther, martin luther     king, queen elizabeth, king     charles, winston
    churchill, angela merkel, emmanuel macron, boris johnson, tony     blair, margaret thatcher, nelson mandela,
    mahatma gandhi, vladimir putin, volodymyr zelensky, john marshall, oliver wendell holmes, louis brandeis,
    benjamin cardozo, learned hand, felix frankfurter, earl warren, thurgood marshall, william     rehnquist,
    sandra day o'connor, antonin scalia, anthony kennedy, david souter, clarence thomas, ruth bader     ginsburg,
    stephen breyer, john roberts, samuel alito, sonia sotomayor, elena     kagan, neil gorsuch, brett
    kavanaugh, amy coney barrett, ketanji brown jackson, william blackstone
    """
)
ORGANISED = _words(
    "hurricane storm cyclone drug company app software dog cat robot assistant device town city ship band"
)

# Listed with the flag `w` (also a word, place or brand), but before a surname nearly always a person.
MOSTLY_NAMES = _words(
    "abel adam addison adelaide alexandria ali alma andrew angel archer athena barrett beau bella bo bob bobby "
    "bodhi bonnie boone bryce campbell carl carmen carol carolina carson carter cassidy clint colt connie cooper "
    "daisy delilah deniz don duane duncan dwight earl ed edwin eliot emery ernest esperanza eve francis frank "
    "franklin gail gary gemma geneva gilbert ginny guadalupe gus hank hans hari harley harry hazel heather helena "
    "henry hester hilda hugh huck ida ike iman iris isha ivy jack jackie jasmine jay jean jenny jesús jim jimmy "
    "jo joe joey john johnny josie judah jude judy karen kate katrina kay kelly ken kerry kim kiran kirk kitty "
    "laurel len levi lily linda ling lionel logan lois lorraine lou louis lourdes luke luna lupe luz lyle lynn "
    "mabel mae maggie magdalena malak mallory marc marion martin mary matt maud mel mia mike mina minnie mitch "
    "moe mona morris moses myrtle nan nana nancy nathan nelson nick nika noel nora norma norman olga olive olivia "
    "oscar otis otto paige pam patrice patsy patty paul peggy penny percy perla peter phil phoebe pierre puja rae "
    "rana randy ravi ray regina rhea rob robin rocco rocky rod roger ron rosa rosario rose rosemary ross rowan "
    "rowena roxie roy ruby russ ruth sally salvador sam samson sara sasha saul sean shannon sharon shelby sherry "
    "sid solomon sonny sora spencer stan stella stephen susan sybil ted teddy terra tess theo thomas tim timo "
    "toby tom tommy tony tracy trent trey trixie troy tucker ty tyler una ursula usha vera vern victor vincent "
    "virgil wade wallace walt wanda warner wayne wendy wes wilson zion ana miguel santos santiago jade jorge jose "
    "maya milan misty nadia natividad pepe pia pippa primitivo remy rita scarlett sienna sierra simon sofia "
    "taylor trinity"
)
SURNAMES = _words(
    "smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson "
    "anderson thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis "
    "robinson walker young allen king wright scott torres nguyen hill flores green adams nelson baker hall rivera "
    "campbell mitchell carter roberts gomez phillips evans turner diaz parker cruz edwards collins reyes stewart "
    "morris morales murphy cook rogers gutierrez ortiz morgan cooper peterson bailey reed kelly howard ramos kim "
    "cox ward richardson watson brooks chavez wood james bennett gray mendoza ruiz hughes price alvarez castillo "
    "sanders patel myers long ross foster jimenez powell jenkins perry russell sullivan bell coleman butler "
    "henderson barnes gonzales fisher vasquez simmons romero jordan patterson alexander hamilton graham reynolds "
    "griffin wallace moreno west cole hayes bryant herrera gibson ellis tran medina aguilar stevens murray ford "
    "castro marshall owens harrison fernandez mcdonald woods washington kennedy wells vargas henry chen freeman "
    "webb tucker guzman burns crawford olson simpson porter hunter gordon mendez silva shaw snyder mason dixon "
    "munoz hunt hicks holmes palmer wagner black robertson boyd rose stone salazar fox warren mills meyer rice "
    "schmidt garza daniels ferguson nichols stephens soto weaver ryan gardner payne grant dunn kelley spencer "
    "hawkins arnold pierce hansen peters santos hart bradley knight elliott cunningham duncan armstrong hudson "
    "carroll lane riley andrews alvarado ray delgado berry perkins hoffman johnston matthews pena richards "
    "contreras willis carpenter lawrence sandoval guerrero george chapman rios estrada ortega watkins greene "
    "nunez wheeler valdez harper burke larson santiago maldonado morrison franklin carlson austin dominguez carr "
    "lawson jacobs obrien o'brien lynch singh vega bishop montgomery oliver jensen harvey williamson gilbert dean "
    "sims espinoza howell li wong reid hanson le mccoy garrett burton fuller wang weber welch rojas lucas marquez "
    "fields park yang little banks padilla day walsh bowman schultz luna fowler mejia davidson acosta brewer may "
    "holland juarez newman pearson curtis cortez douglas schneider joseph barrett navarro figueroa keller avila "
    "wade molina stanley hopkins campos barnett bates chambers caldwell beck lambert miranda byrd craig ayala "
    "lowe frazier powers neal leonard gregory carrillo sutton fleming rhodes shelton schwartz norris jennings "
    "duran watts cohen walters mcguire whitfield whitaker okafor kowalski novak petrov ivanov khan ahmed hassan "
    "ali rahman hussain sharma gupta kumar reddy das nakamura tanaka suzuki yamamoto choi jung lin huang zhang "
    "liu chang pham hoang o'connor o'neill o'reilly macdonald mackenzie fraser muller fischer"
)
