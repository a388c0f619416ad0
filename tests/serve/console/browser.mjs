// The console in a real browser: clicks, keys, two reviewers, clocks, and axe-core. Run by test_browser.py.
import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";
import {createRequire} from "node:module";
import {after, afterEach, before, beforeEach, test} from "node:test";

const {CONSOLE_URL: root, CONSOLE_KEYS: keysFile, CONSOLE_PICTURES: pictures, CONSOLE_PACKAGES: packages, CHROMIUM: chrome} = process.env;
const packaged = createRequire(`${packages}/`);
const {chromium} = packaged("playwright-core");
const axe = packaged.resolve("axe-core/axe.min.js");
const keys = JSON.parse(keysFile);
const base = `${root}/console`;
let browser;

before(async () => {
  browser = await chromium.launch({executablePath: chrome, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]});
});
after(() => browser.close());

const control = async (name, body = {}) => {
  const answer = await fetch(`${root}/control/${name}`, {method: "POST", body: JSON.stringify(body),
    headers: {authorization: `Bearer ${keys.clinic}`, "content-type": "application/json"}});
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
};
const asCaller = async (path, body) => (await fetch(`${root}${path}`, {
  method: body ? "POST" : "GET", body: body && JSON.stringify(body),
  headers: {authorization: `Bearer ${keys.clinic}`, "content-type": "application/json"}})).json();

const LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children.";
const UNDECIDED = "Metformin senkt den Blutzucker und wird zu den Mahlzeiten eingenommen.";
const PART = "senkt den Blutzucker";

// A page of somebody who has signed in; anything that the page's policy forbids, or that its script throws, fails the test.
const opened = [];
const signedIn = async (who, options = {}) => {
  const context = await browser.newContext({viewport: {width: 1280, height: 860}, ...options});
  const page = await context.newPage();
  page.wrong = [];
  opened.push(page);
  page.on("pageerror", error => page.wrong.push(String(error)));
  page.on("console", said => { if (said.type() === "error" && !/status of 4\d\d/.test(said.text())) page.wrong.push(said.text()); });
  await page.goto(`${base}/sign-in`);
  await page.focus("#key");
  await page.keyboard.type(keys[who]);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${base}/queue`);
  return page;
};
beforeEach(() => control("reset"));
afterEach(async () => {
  const wrong = [];
  for (const page of opened.splice(0)) { wrong.push(...page.wrong); await page.context().close(); }
  assert.deepEqual(wrong, []);
});

// What a screen reader is told: the browser's own tree, in which every control has a name.
const CONTROLS = new Set(["button", "link", "textbox", "checkbox", "radio", "combobox", "DisclosureTriangle", "DisclosureTriangleGrouped", "dialog"]);
const controls = async page => {
  const session = await page.context().newCDPSession(page);
  const {nodes} = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes.filter(node => !node.ignored && CONTROLS.has(node.role.value)).map(node => [node.role.value, node.name.value.trim()]);
};

const accessible = async page => {
  await page.evaluate(await readFile(axe, "utf8"));  // by the debugger: the page's own policy forbids foreign scripts
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}));
  assert.ok(found.passes.length > 10, "axe-core judged nothing");
  assert.deepEqual(found.violations.map(v => [v.id, v.nodes.map(n => `${n.html.slice(0, 160)} | ${n.failureSummary}`)]), []);
  assert.deepEqual((await controls(page)).filter(([, name]) => !name), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${page.url()} is too wide`);
};
const inSight = async page => assert.ok(await page.evaluate(() => [...document.querySelectorAll("td")].every(
  cell => cell.getBoundingClientRect().right <= innerWidth)), "a figure is out of sight");
const picture = async (page, name) => { if (pictures) await page.screenshot({path: `${pictures}/${name}.png`, fullPage: true}); };
const keysOf = async (page, ...pressed) => { for (const key of pressed) await page.keyboard.press(key); };
const heading = page => page.textContent("h1");

test("by keys alone: from abstention to release, which reaches the caller", async () => {
  const asked = await asCaller("/v1/check", {text: UNDECIDED, question: "Was tut Metformin?", review: true});
  assert.equal(asked.action, "pending");
  assert.equal(asked.code, "privacy/undecided");
  const page = await signedIn("anna");
  await keysOf(page, "j", "Enter");
  await page.waitForURL(`${base}/tickets/${asked.ticket}`);
  assert.match(await heading(page), /^The guard cannot read this answer: .*looks like German/);
  assert.match(await page.textContent("#answer-1 ~ .quote"), /senkt den Blutzucker/);
  await keysOf(page, "1");
  assert.ok(await page.isVisible("button[value='release:nobody_described']"));
  await keysOf(page, "1");
  await page.waitForURL(`${base}/queue?decided=${asked.ticket}`);
  assert.match(await page.textContent(".undo"), /Ticket .*: released\..*It leaves in \d+ s/s);
  assert.equal((await asCaller(`/v1/tickets/${asked.ticket}`)).status, "pending");
  const waited = asCaller(`/v1/tickets/${asked.ticket}?wait=20`);
  await control("ahead", {seconds: 11});
  assert.deepEqual(await waited, {id: asked.ticket, status: "released", deadline: (await waited).deadline, payload: {texts: [UNDECIDED]}});
});

test("through the proxy: a stream is held, and goes on with what the reviewer released", async () => {
  const page = await signedIn("anna");
  const answer = await fetch(`${root}/v1/chat/completions`, {
    method: "POST", headers: {authorization: `Bearer ${keys.clinic}`, "content-type": "application/json"},
    body: JSON.stringify({model: "tiny", stream: true, messages: [{role: "user", content: "Was tut Metformin?"}]})});
  let heard = "";
  const whole = (async () => { for await (const part of answer.body) heard += Buffer.from(part).toString(); })();
  const until = Date.now() + 45_000;  // The answer is held for 60 s, and is judged first.
  do await page.goto(`${base}/next`); while (!/tickets/.test(page.url()) && Date.now() < until);
  await page.waitForURL(/tickets/);
  assert.match(await page.textContent(".reading"), /Was tut Metformin\?/);
  assert.doesNotMatch(heard, /data: /);
  await keysOf(page, "1", "1");
  await page.waitForURL(/decided=/);
  assert.doesNotMatch(heard, /data: /);
  await control("ahead", {seconds: 11});
  await whole;
  assert.match(heard, /^: /);
  const events = heard.split("\n").filter(line => line.startsWith("data: ")).map(line => line.slice(6));
  assert.equal(events.at(-1), "[DONE]");
  assert.equal(events.slice(0, -1).flatMap(one => JSON.parse(one).choices).map(one => one.delta.content ?? "").join(""), UNDECIDED);
});

test("by mouse: an edited text that the guard refuses, and one that it does not", async () => {
  const {ticket} = await control("open", {text: LITIGATOR, code: "privacy/contextual"});
  const page = await signedIn("anna");
  await page.click(`a[href$="${ticket}"]`);
  await page.click("summary:has-text('Edit and release')");
  await page.fill("textarea", LITIGATOR.replace("52-year-old ", ""));
  await page.click("button[value='release_edited:removed']");
  assert.match(await page.textContent("#refused"), /still gives a person away\..*privacy\/contextual/s);
  assert.ok(await page.isVisible("textarea"));
  assert.ok((await page.$$("details[open] mark")).length >= 2);
  await page.fill("textarea", "Metformin lowers blood glucose.");
  await page.click("button[value='release_edited:removed']");
  await page.waitForURL(/decided=/);
  await control("ahead", {seconds: 11});
  assert.deepEqual((await asCaller(`/v1/tickets/${ticket}`)).payload.choices[0].message.content, "Metformin lowers blood glucose.");
});

test("undo by its key, while there is time", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const page = await signedIn("anna");
  await keysOf(page, "j", "Enter");
  await page.waitForURL(/tickets/);
  await keysOf(page, "3", "4");
  await page.waitForURL(/decided=/);
  await keysOf(page, "u");
  await page.waitForURL(`${base}/tickets/${ticket}`);
  assert.match(await page.textContent(".reading"), new RegExp(PART));
  await keysOf(page, "1", "2");
  await page.waitForURL(/decided=/);
  await page.waitForFunction(() => !document.querySelector("[data-over]").hidden, null, {timeout: 15_000});
  assert.ok(!(await page.isVisible(".undo button")));
  await keysOf(page, "u");
  assert.equal((await asCaller(`/v1/tickets/${ticket}`)).status, "released");
});

test("two reviewers race for a ticket, and one decides", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const anna = await signedIn("anna"), bela = await signedIn("bela");
  await anna.goto(`${base}/tickets/${ticket}`);
  await bela.goto(`${base}/tickets/${ticket}`);
  assert.match(await heading(bela), /anna has this ticket/);
  assert.doesNotMatch(await bela.content(), new RegExp(PART));
  await control("ahead", {seconds: 301});
  await bela.reload();
  assert.match(await bela.content(), new RegExp(PART));
  await keysOf(anna, "1", "1");
  await anna.waitForSelector("[role=alert]");
  assert.match(await anna.textContent("[role=alert]"), /bela: took it .* Nothing of yours was written/);
  assert.doesNotMatch(await anna.content(), new RegExp(PART));
  await keysOf(bela, "3", "2");
  await bela.waitForURL(/decided=/);
  await control("ahead", {seconds: 11});
  assert.equal((await asCaller(`/v1/tickets/${ticket}`)).status, "blocked");
});

test("where two must agree, a proposal can be undone, and leaves with the second release", async () => {
  await control("second", {on: true});
  const {ticket} = await control("open", {text: UNDECIDED});
  const anna = await signedIn("anna"), bela = await signedIn("bela");
  await anna.goto(`${base}/tickets/${ticket}`);
  await keysOf(anna, "1", "1");
  await anna.waitForURL(/decided=/);
  assert.match(await anna.textContent(".undo"), /proposed to release/);
  await accessible(anna);
  await keysOf(anna, "u");
  await anna.waitForURL(`${base}/tickets/${ticket}`);
  await keysOf(anna, "1", "1");
  await anna.waitForURL(/decided=/);
  await anna.goto(`${base}/tickets/${ticket}`);
  assert.match(await heading(anna), /waits for a second reviewer/);
  await accessible(anna);
  await bela.goto(`${base}/tickets/${ticket}`);
  assert.match(await bela.textContent("aside"), /anna proposes to release this/);
  await accessible(bela);
  await keysOf(bela, "1", "1");
  await bela.waitForURL(/decided=/);
  await control("ahead", {seconds: 11});
  assert.equal((await asCaller(`/v1/tickets/${ticket}`)).status, "released");
});

test("an open page loses its text when the ticket expires", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const page = await signedIn("anna");
  await control("ahead", {seconds: 3400});
  await page.clock.install();
  await page.goto(`${base}/tickets/${ticket}`);
  assert.match(await page.content(), new RegExp(PART));
  await control("ahead", {seconds: 201});
  await page.clock.runFor(201_000).catch(() => {});  // It loads itself anew meanwhile.
  await page.waitForSelector("h1:has-text('has expired')");
  assert.doesNotMatch(await page.content(), new RegExp(PART));
  assert.equal((await asCaller(`/v1/tickets/${ticket}`)).status, "expired");
  await accessible(page);
});

test("a reservation lasts while somebody works, and ends at an empty desk", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const page = await signedIn("anna");
  await page.clock.install();
  await page.goto(`${base}/tickets/${ticket}`);
  const until = async () => Number(await page.getAttribute("#reserved", "data-until"));
  const first = await until();
  await control("ahead", {seconds: 61});
  await page.mouse.move(10, 10);
  await page.mouse.move(20, 20);
  await page.clock.runFor(61_000);
  await page.waitForFunction(before => Number(document.querySelector("#reserved").dataset.until) > before + 50, first);
  await keysOf(page, "1", "1");
  await page.waitForURL(/decided=/);
  await keysOf(page, "u");
  await page.waitForURL(`${base}/tickets/${ticket}`);
  // The service's clock and the page's go together: the last renewal is a minute after the last key.
  for (let minute = 0; minute < 8 && !page.url().endsWith("said=reservation"); minute += 1) {
    await control("ahead", {seconds: 61});
    await page.clock.runFor(61_000).catch(() => {});  // It may leave meanwhile.
  }
  await page.waitForURL(`${base}/queue?said=reservation`);
  assert.match(await page.textContent("[role=status]"), /Your reservation ended/);
});

test("keys collide with nothing: not while writing, not with Ctrl, not when they are off", async () => {
  const first = await control("open", {text: UNDECIDED}), second = await control("open", {text: LITIGATOR});
  const page = await signedIn("anna");
  await page.goto(`${base}/tickets/${first.ticket}`);
  await keysOf(page, "?");
  assert.ok(await page.isVisible("dialog"));
  await accessible(page);
  await picture(page, "help");
  await keysOf(page, "j", "1");
  assert.equal(page.url(), `${base}/tickets/${first.ticket}`);
  await keysOf(page, "?");
  assert.ok(!(await page.isVisible("dialog")));
  for (const with_ of ["Control", "Alt", "Meta"]) {
    const stopped = await page.evaluate(kind => !dispatchEvent.call(document.body, new KeyboardEvent("keydown", {
      key: "j", [`${kind === "Control" ? "ctrl" : kind.toLowerCase()}Key`]: true, bubbles: true, cancelable: true})), with_);
    assert.equal(stopped, false);
  }
  await keysOf(page, "2");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  await page.keyboard.type("1 j k q u ?");
  assert.match(await page.inputValue("textarea"), /1 j k q u \?/);
  assert.equal(page.url(), `${base}/tickets/${first.ticket}`);
  await keysOf(page, "Escape");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY");
  assert.equal(await page.locator("details.action[open]").count(), 0);
  await keysOf(page, "j");
  await page.waitForURL(`${base}/tickets/${second.ticket}`);
  const bela = await signedIn("bela");
  await bela.goto(`${base}/tickets/${first.ticket}`);
  assert.match(await bela.content(), new RegExp(PART));
  await keysOf(bela, "q");
  await bela.waitForURL(`${base}/queue?said=left`);
  await keysOf(page, "k");
  await page.waitForURL(`${base}/tickets/${first.ticket}`);
  await keysOf(page, "q");
  await page.waitForURL(`${base}/queue?said=left`);
  await keysOf(page, "?");
  await page.uncheck("#keys-on");
  await keysOf(page, "Escape", "j");
  assert.equal(await page.locator("tr[aria-current]").count(), 0);
  await page.reload();
  await keysOf(page, "j");
  assert.equal(await page.locator("tr[aria-current]").count(), 0);
});

test("the list looks again by itself, and keeps the marked row", async () => {
  await control("open", {text: UNDECIDED});
  const page = await signedIn("anna");
  await page.clock.install();
  await page.goto(`${base}/queue`);
  await keysOf(page, "j");
  const marked = await page.getAttribute("tr[aria-current]", "data-row");
  const {ticket} = await control("open", {text: LITIGATOR, code: "privacy/contextual"});
  await page.clock.runFor(10_500);
  await page.waitForSelector(`[data-row="${ticket}"]`);
  assert.match(await page.title(), /^2 tickets wait/);
  assert.equal(await page.textContent("#news"), "1 new ticket");
  assert.equal(await page.getAttribute("tr[aria-current]", "data-row"), marked);
  assert.ok(await page.evaluate(() => document.activeElement.closest("tr[aria-current]") !== null));
  await page.click(".chips a:has-text('contextual')");
  await page.waitForURL(/code=privacy/);
  assert.equal(await page.locator("[data-row]").count(), 1);
});

test("without JavaScript everything but the clocks works", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const page = await signedIn("anna", {javaScriptEnabled: false});
  await page.click(`a[href$="${ticket}"]`);
  await page.click("summary:has-text('Release')");
  await page.click("button[value='release:nobody_described']");
  await page.waitForURL(/decided=/);
  await page.click(".undo button");
  await page.waitForURL(`${base}/tickets/${ticket}`);
  await page.click("summary:has-text('Block')");
  await page.click("button[value='block:cannot_tell']");
  await page.waitForURL(/decided=/);
  await control("ahead", {seconds: 11});
  assert.equal((await asCaller(`/v1/tickets/${ticket}`)).status, "blocked");
});

test("by keys alone: what enforcing would withhold, by reason", async () => {
  const said = [LITIGATOR, UNDECIDED, LITIGATOR, "Metformin lowers blood glucose."];
  for (const text of said) assert.equal((await asCaller("/v1/check/trial", {text})).action, "pass");
  const page = await signedIn("anna");
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
  for (let presses = 0; presses < 20 && await focused() !== "Observed"; presses += 1) await keysOf(page, "Tab");
  await keysOf(page, "Enter");
  await page.waitForURL(`${base}/observed`);
  assert.equal(await page.textContent("h2"), "trial: 4 requests");
  assert.match(await page.textContent(".tiles"), /75(\.0)?%.*would be withheld/s);
  const cells = await page.$$eval("table tbody tr", rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));
  assert.deepEqual(cells.map(([cause, , ...figures]) => [cause, ...figures]), [
    ["attributes that single a person out", "2", "50.0%"], ["language that is not read", "1", "25.0%"]]);
  assert.match(cells[0][1], /age.*occupation/);
  await accessible(page);
});

test("the tree of a screen reader shows a control without a name", async () => {
  const page = await signedIn("anna");
  assert.ok((await controls(page)).some(([role, name]) => role === "link" && name === "Observed"));
  await page.evaluate(() => document.querySelector("main").append(document.createElement("button")));
  assert.deepEqual((await controls(page)).filter(([, name]) => !name), [["button", ""]]);
});

test("a ticket is not printed, and figures are, dark on white", async () => {
  const {first} = await control("fill");
  const page = await signedIn("anna", {colorScheme: "dark"});
  const printed = async address => {
    await page.goto(`${base}/${address}`);
    await page.emulateMedia({media: "print"});
    await picture(page, `print-${address.split("/")[0]}`);
    const seen = await page.evaluate(() => [document.body.innerText, getComputedStyle(document.querySelector("h1")).color]);
    await page.emulateMedia({media: "screen"});
    return seen;
  };
  assert.equal((await printed(`tickets/${first}`))[0].trim(), "");
  assert.match(await page.evaluate(() => getComputedStyle(document.querySelector("[data-ticket]"), "::before").content), /none/);
  const [words, colour] = await printed("observed");
  assert.match(words, /What enforcing would withhold/);
  assert.doesNotMatch(words, /Sign out/);
  assert.ok(Math.max(...colour.match(/\d+/g).map(Number)) < 80, `${colour} on white`);
});

test("who has signed out does not come back by the browser's history", async () => {
  const {ticket} = await control("open", {text: UNDECIDED});
  const page = await signedIn("anna");
  await page.goto(`${base}/tickets/${ticket}`);
  await page.click("button:has-text('Sign out')");
  await page.waitForURL(/sign-in/);
  await page.goBack();
  await page.waitForURL(/sign-in/);
  assert.doesNotMatch(await page.content(), new RegExp(PART));
  assert.equal((await page.context().cookies()).length, 0);
});

for (const [name, options] of Object.entries({
  light: {}, dark: {colorScheme: "dark"}, narrow: {viewport: {width: 360, height: 740}},
  "narrow-dark": {viewport: {width: 360, height: 740}, colorScheme: "dark"}})) {
  test(`accessible by axe-core, and not too wide: ${name}`, async () => {
    const {first, long, ended} = await control("fill");
    const page = await signedIn("anna", options);
    await accessible(page);
    await picture(page, `${name}-queue`);
    await keysOf(page, "j", "j");
    await accessible(page);
    await page.goto(`${base}/tickets/${first}`);
    await accessible(page);
    await picture(page, `${name}-ticket`);
    await keysOf(page, "1");
    await accessible(page);
    await picture(page, `${name}-reasons`);
    await page.goto(`${base}/tickets/${long}`);
    await accessible(page);
    await picture(page, `${name}-long`);
    await keysOf(page, "2");
    await page.fill("textarea", LITIGATOR);
    await page.click("button[value='release_edited:removed']");
    await page.waitForSelector("#refused");
    await accessible(page);
    await picture(page, `${name}-refused`);
    await page.goto(`${base}/tickets/${ended}`);
    await accessible(page);
    await picture(page, `${name}-ended`);
    await page.goto(`${base}/tickets/${first}`);
    await keysOf(page, "1", "2");
    await page.waitForURL(/decided=/);
    await accessible(page);
    await picture(page, `${name}-decided`);
    await page.goto(`${base}/statistics`);
    await inSight(page);
    await accessible(page);
    await picture(page, `${name}-statistics`);
    await page.goto(`${base}/observed`);
    assert.equal(await page.locator("table tbody tr").count(), 2);
    await inSight(page);
    await accessible(page);
    await picture(page, `${name}-observed`);
    const operator = await signedIn("otto", options);
    await operator.goto(`${base}/audit`);
    await accessible(operator);
    await picture(operator, `${name}-audit`);
    await operator.goto(`${base}/tickets/${first}`);
    await accessible(operator);
    await operator.click("button:has-text('Sign out')");
    await operator.waitForURL(/sign-in/);
    await accessible(operator);
    await operator.fill("#key", "dsk_wrong");
    await operator.click("button.main");
    await operator.waitForSelector("#wrong");
    await accessible(operator);
    await picture(operator, `${name}-sign-in`);
  });
}
