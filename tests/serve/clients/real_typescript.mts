// A client in TypeScript that is generated from the service's own document; the compiler checks every line against it.
import createClient from "openapi-fetch";
import type {paths} from "./api.js";

declare const process: {argv: string[]};

const [baseUrl, key, reviewer] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({baseUrl, headers: {authorization: `Bearer ${key}`}});
const reviewing = createClient<paths>({baseUrl, headers: {authorization: `Bearer ${reviewer}`}});
const LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children.";

const safe = await client.POST("/v1/check", {body: {text: "Metformin lowers blood glucose."}});
const flagged = await client.POST("/v1/check/{guard}", {
  params: {path: {guard: "medical"}}, body: {text: [LITIGATOR], sources: [{text: "The law of 1990.", public: true}]}});
const held = await client.POST("/v1/check", {
  body: {text: "Metformin senkt den Blutzucker und wird zu den Mahlzeiten eingenommen.", review: true}});
const ticket = await client.GET("/v1/tickets/{ticket}", {
  params: {path: {ticket: held.data?.ticket ?? ""}, query: {wait: 0}}});
const listed = await client.GET("/v1/tickets", {params: {query: {limit: 5}}});
const refused = await client.POST("/v1/check/{guard}", {params: {path: {guard: "none"}}, body: {text: "x"}});
const answered = await client.POST("/v1/chat/completions", {
  body: {model: "tiny", messages: [{role: "user", content: "person"}]}});
const waiting = await reviewing.GET("/v1/reviews");
const at = {params: {path: {ticket: waiting.data?.tickets[0]?.id ?? ""}}};
const read = await reviewing.GET("/v1/reviews/{ticket}", at);
const version = read.data?.version ?? 0;
const refusedEdit = await reviewing.POST("/v1/reviews/{ticket}/decide", {
  ...at, body: {version, action: "release_edited", reason: "removed", texts: [LITIGATOR]}});
const decided = await reviewing.POST("/v1/reviews/{ticket}/decide", {
  ...at, body: {version, action: "release", reason: "nobody_described"}});
const released = await client.GET("/v1/tickets/{ticket}", {params: {...at.params, query: {wait: 5}}});
const forbidden = await client.GET("/v1/reviews");
const counts = await client.GET("/metrics", {parseAs: "text"});

// @ts-expect-error: a text is no number
await client.POST("/v1/check", {body: {text: 1}});
// @ts-expect-error: there is no such action
await reviewing.POST("/v1/reviews/{ticket}/decide", {...at, body: {version, action: "publish", reason: "other"}});
// @ts-expect-error: there is no such path
await client.GET("/v1/no-such");
// @ts-expect-error: there is no such action
const impossible = safe.data?.action === "allow";

const action: "pass" | "redact" | "block" | "pending" | "failed" | undefined = safe.data?.action;
console.log(JSON.stringify({
  safe: action, impossible, flagged: [flagged.data?.action, flagged.data?.code], held: held.data?.action,
  ticket: ticket.data?.status, listed: listed.data?.tickets.map(one => one.id === held.data?.ticket),
  refused: [refused.response.status, refused.error && "error" in refused.error ? refused.error.error.code : null],
  answered: [answered.response.headers.get("x-discreet-code"), JSON.stringify(answered.data).includes("litigator")],
  reviewed: [read.data?.texts.length, refusedEdit.error && "findings" in refusedEdit.error
    ? refusedEdit.error.error.code : null, decided.data?.status, released.data?.status, forbidden.response.status],
  counts: counts.response.status}));
