// Keys, clocks, heartbeats and the list that refreshes itself. Without this script every page works by its forms.
"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const base = document.body.dataset.base;

  // Clocks follow the server's time, whatever this machine believes; a machine that slept has no shorter seconds.
  const ahead = Number(document.body.dataset.now) - Date.now() / 1000;
  const now = () => Date.now() / 1000 + ahead;
  const span = seconds => {
    const s = Math.max(0, Math.ceil(seconds));
    if (s < 100) return `${s} s`;
    return s < 6000 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
  };
  const forms = {
    in: s => s > 0 ? `in ${span(s)}` : "now",
    left: s => `${span(s)} left`,
    seconds: s => `${Math.max(0, Math.ceil(s))} s`,
  };
  const soon = {in: 600, left: 60, seconds: 0};
  const leaveFor = address => { if (!leaving) { leaving = true; location.assign(address); } };
  let leaving = false;
  const then = {
    reload: () => { if (!leaving) { leaving = true; location.reload(); } },
    queue: () => leaveFor(`${base}/queue?said=reservation`),
  };
  const tick = () => {
    for (const clock of all(".timer")) {
      const left = Number(clock.dataset.until) - now(), form = clock.dataset.form;
      const said = forms[form](left);
      if (clock.textContent !== said) clock.textContent = said;
      clock.classList.toggle("soon", left < soon[form]);
      if (left <= 0 && clock.dataset.then) then[clock.dataset.then]();
    }
    const over = one("[data-undo] [data-over]"), undo = one("[data-undo]");
    if (over && over.hidden && Number(one(".timer", undo).dataset.until) <= now()) {
      over.hidden = false;
      one("[data-running]", undo).hidden = one("button", undo).hidden = true;
    }
  };

  // A reservation is renewed only while somebody works on the page: an empty desk must not hold a ticket.
  let active = now();
  for (const kind of ["keydown", "pointerdown", "pointermove", "scroll", "input"]) {
    addEventListener(kind, () => { active = now(); }, {passive: true, capture: true});
  }
  const send = form => fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form)), headers: {"X-Console": "1"}, redirect: "manual"});
  const beat = async form => {
    const every = Number(form.dataset.every);
    if (now() - active < 2 * every) {
      try {
        const answer = await send(form);
        if (answer.ok) {
          one("#reserved").dataset.until = (await answer.json()).until;
        } else if (answer.status === 401 || answer.status === 409 || answer.status === 410) {
          then.reload();
        }
      } catch { /* The network is away; the clock of the reservation says how long it may be. */ }
    }
    setTimeout(beat, every * 1000, form);
  };

  // The list looks again while the page is seen, and keeps the row that is marked.
  let marked = null;
  const rows = () => all("[data-row]");
  const mark = row => {
    for (const other of rows()) other.removeAttribute("aria-current");
    marked = row ? row.dataset.row : null;
    if (row) { row.setAttribute("aria-current", "true"); row.scrollIntoView({block: "nearest"}); one("a", row).focus({preventScroll: true}); }
  };
  const refresh = async list => {
    if (!document.hidden && !one("dialog[open]")) {
      try {
        const answer = await fetch(location.href, {headers: {"X-Console": "1"}, redirect: "manual"});
        if (answer.ok) {
          const known = new Set(rows().map(row => row.dataset.row)), focused = list.contains(document.activeElement);
          const read = new DOMParser().parseFromString(await answer.text(), "text/html");
          list.replaceChildren(...read.body.childNodes);
          tick();
          const fresh = rows().filter(row => !known.has(row.dataset.row)).length;
          if (fresh) one("#news").textContent = `${fresh} new ticket${fresh > 1 ? "s" : ""}`;
          document.title = `${one("h1", list).textContent.replace(" for a decision", "")} · discreet`;
          const row = rows().find(found => found.dataset.row === marked);
          if (row && focused) mark(row);
          else if (row) row.setAttribute("aria-current", "true");
        } else if (answer.status === 401 || answer.type === "opaqueredirect") {
          location.reload();
        }
      } catch { /* It looks again. */ }
    }
    setTimeout(refresh, Number(list.dataset.refresh) * 1000, list);
  };

  // Keys: single characters only, none while somebody writes, none that the browser has; they can be switched off.
  const remembered = () => { try { return localStorage.getItem("discreet-keys"); } catch { return null; } };
  const help = one("#help"), on = one("#keys-on");
  // A ticket that is passed is free for others.
  const giveBack = async () => {
    const reserved = one("#leave");
    if (reserved) await send(reserved).catch(() => { /* Its reservation ends by itself. */ });
  };
  const step = by => {
    const list = rows();
    if (list.length) {
      const at = list.findIndex(row => row.dataset.row === marked);
      mark(list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)]);
      return;
    }
    const ticket = one("[data-ticket]"), to = ticket && ticket.dataset[by > 0 ? "next" : "previous"];
    if (to) giveBack().finally(() => leaveFor(to));
  };
  const digit = key => {
    const open = one("details.action[open]");
    const reason = open && one(`button[data-key="${key}"]`, open);
    if (reason) { reason.click(); return; }
    const action = one(`details.action[data-key="${key}"]`);
    if (action && !open) { action.open = true; one("summary", action).focus(); if (one("textarea", action)) one("textarea", action).focus(); }
  };
  const press = selector => { const button = one(selector); if (button && !button.hidden) button.click(); };
  const keys = {
    j: () => step(1), k: () => step(-1), u: () => press("[data-undo] button"), q: () => press("#leave button"),
    "?": () => help.showModal(),
  };
  addEventListener("keydown", event => {
    const at = event.target, field = at.closest && at.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
    if (event.key === "Escape") {
      if (help && help.open) return;
      const open = one("details.action[open]");
      if (open) { open.open = false; one("summary", open).focus(); } else if (field) at.blur();
      return;
    }
    if (field || !help || (on && !on.checked && event.key !== "?")) return;
    if (help.open) { if (event.key === "?") { event.preventDefault(); help.close(); } return; }
    const what = /^[1-9]$/.test(event.key) ? () => digit(event.key) : keys[event.key];
    if (what) { event.preventDefault(); what(); }
  });
  const opener = one("[data-help]");
  if (opener) { opener.hidden = false; opener.addEventListener("click", () => help.showModal()); }
  if (on) {
    on.checked = remembered() !== "off";
    on.addEventListener("change", () => { try { localStorage.setItem("discreet-keys", on.checked ? "on" : "off"); } catch { /* For this page only. */ } });
  }

  // One decision a page: a second click must not race the first.
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", event => { if (form.dataset.sent) event.preventDefault(); else form.dataset.sent = "1"; });
  }
  // A page that the browser kept shows a text that may be gone by now.
  addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

  const form = one("#beat"), list = one("#queue");
  if (form) setTimeout(beat, Number(form.dataset.every) * 1000, form);
  if (list) setTimeout(refresh, Number(list.dataset.refresh) * 1000, list);
  tick();
  setInterval(tick, 500);
})();
