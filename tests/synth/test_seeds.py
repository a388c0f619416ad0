from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import builtin_domains, load_domain
from discreet.synth.seeds import corpora, read_seeds

TEXT = "A first line of treatment is chosen by its effect and by its price, and a review follows after six weeks."
OTHER = "The dose is raised slowly, and where the effect is too small a second line is added to the first."
POSTS = f"""<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" Title="Should I refinance?" Body="&lt;p&gt;My story.&lt;/p&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" Score="3" Body="&lt;p&gt;{TEXT} &lt;b&gt;Always.&lt;/b&gt;&lt;/p&gt;" />
  <row Id="3" PostTypeId="2" ParentId="1" Score="-2" Body="&lt;p&gt;{OTHER}&lt;/p&gt;" />
  <row Id="4" PostTypeId="2" ParentId="9" Score="1" Body="&lt;p&gt;{OTHER}&lt;/p&gt;" />
</posts>"""


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, Any], Path]:
    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if name.endswith(".parquet"):
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.Table.from_pylist(content), path)
        else:
            path.write_text(content if isinstance(content, str) else "".join(json.dumps(r) + "\n" for r in content))
        return path
    return write


def test_corpora_of_table_one() -> None:
    counts = {name: sum(c.records or 0 for c in corpora(name) if c.paper) for name in builtin_domains()}
    assert counts == {"medical": 46412, "finance": 42405, "law": 34065}
    assert counts == {name: load_domain(name).templates["safe_records"] for name in counts}


@pytest.mark.parametrize(("domain", "name", "row", "source", "register", "question", "text"), [
    ("medical", "medquad.csv", f"Question,Answer\nWhat helps?,\"{TEXT}\"\n", "MedQuAD", "authoritative", "What helps?",
     TEXT),
    ("medical", "kabatubare/train.jsonl", [{"Question": "Why?", "Answer": TEXT}], "kabatubare conversational",
     "conversational", "Why?", TEXT),
    ("medical", "rag_triplets/all.jsonl", [{"question": "Why?", "context": OTHER, "category": "legal"},
                                           {"question": "Why?", "context": TEXT, "category": "medical"}],
     "RAG triplets", "authoritative", "Why?", TEXT),
    ("finance", "finqa/train.jsonl", [{"pre_text": [TEXT, "."], "post_text": [OTHER], "qa": {"question": "How much?"}}],
     "FinQA", "vignette", "How much?", f"{TEXT} .\n{OTHER}"),
    ("law", "professional_law/test.parquet", [{"question": TEXT, "choices": ["No.", "Yes."], "answer": 1}],
     "MMLU-Law", "vignette", None, f"{TEXT}\nYes."),
    ("finance", "money.stackexchange.com/Posts.xml", POSTS, "Money StackExchange", "conversational",
     "Should I refinance?", f"{TEXT} Always."),
    # No corpus of the domain: the usual names of columns.
    ("law", "mine.jsonl", [{"id": 7, "passage": TEXT, "register": "vignette"}], "mine", "vignette", None, TEXT),
])
def test_formats(put: Callable[[str, Any], Path], domain: str, name: str, row: Any, source: str, register: str | None,
                 question: str | None, text: str) -> None:
    (seed,) = read_seeds(domain, [put(name, row)])
    assert (seed.source, seed.register, seed.question, seed.text) == (source, register, question, text)
    assert seed.id.startswith(f"{source}/")
    assert TEXT not in repr(seed)


def test_each_passage_once_and_every_id_once(put: Callable[[str, Any], Path]) -> None:
    one = put("a/x.jsonl", [{"id": 1, "text": TEXT}, {"id": 1, "text": OTHER}, {"id": 2, "text": "Too short."}])
    two = put("b/x.jsonl", [{"id": 3, "text": TEXT.upper()}, {"id": 1, "text": f"{OTHER} {TEXT}"}])
    assert [seed.id for seed in read_seeds("law", [one, two.parent])] == ["x/1", "x/1-2", "x/1-3"]
    (named, *_) = read_seeds("law", {"EUR-Lex-Sum": put("c.jsonl", [{"summary": TEXT}])})
    assert (named.source, named.register) == ("EUR-Lex-Sum", "authoritative")


def test_mistakes(put: Callable[[str, Any], Path], tmp_path: Path) -> None:
    good = put("x.jsonl", [{"text": TEXT}])
    with pytest.raises(UsageError, match="no seed files"):
        read_seeds("law", [])
    with pytest.raises(UsageError, match="no seed corpus 'Pile'; expected one of MMLU-Law"):
        read_seeds("law", {"Pile": good})
    with pytest.raises(InputError, match="holds no passage"):
        read_seeds("law", [put("y.jsonl", [{"body": TEXT}])])
    with pytest.raises(InputError, match="12 words"):
        read_seeds("law", [put("z.jsonl", [{"text": "Too short."}])])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file to read"):
        read_seeds("law", [tmp_path / "empty"])
    with pytest.raises(InputError, match="line 1: not XML"):
        read_seeds("law", [put("Posts.xml", "no")])
    with pytest.raises(InputError, match="cannot read"):
        read_seeds("law", [tmp_path / "there.xml"])
    folder = tmp_path / "mine"
    load_domain("law").save(folder)
    text = (folder / "policy.yaml").read_text().replace("domain: law", "domain: mine")
    (folder / "policy.yaml").write_text(text)
    (folder / "prompts.yaml").write_text("seeds: {Pile: {files: [x], text: text, register: loud}}")
    with pytest.raises(InputError, match="seeds, Pile: expected files, text and a register"):
        corpora(folder)
