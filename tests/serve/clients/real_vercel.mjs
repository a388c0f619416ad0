// Vercel's AI SDK with its providers of OpenAI and Anthropic: questions in as JSON lines, what was heard out as JSON lines.
import {createRequire} from "node:module";
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const packaged = createRequire(`${process.env.CLIENT_PACKAGES}/`);
const load = name => import(pathToFileURL(packaged.resolve(name)));
const [{generateText, streamText}, {createOpenAI}, {createAnthropic}] = await Promise.all(
  ["ai", "@ai-sdk/openai", "@ai-sdk/anthropic"].map(load));

// The model as its user makes it, but for the address.
const modelOf = ({door, url, key}) => {
  const given = {baseURL: `${url}/v1`, apiKey: key};
  if (door === "messages") return createAnthropic(given)("tiny");
  return door === "responses" ? createOpenAI(given).responses("tiny") : createOpenAI(given).chat("tiny");
};

const heard = async asked => {
  const request = {model: modelOf(asked), prompt: asked.question, maxRetries: 0};
  if (!asked.stream) {
    const found = await generateText(request);
    return {text: found.text, end: found.finishReason};
  }
  let failed;
  const found = streamText({...request, onError: ({error}) => { failed = error; }});
  let text = "";
  for await (const part of found.textStream) text += part;
  if (failed) throw failed;
  return {text, end: await found.finishReason};
};

for await (const line of createInterface({input: process.stdin})) {
  const said = await heard(JSON.parse(line)).catch(
    error => ({error: String(error), status: error.statusCode ?? null, text: "", end: "error"}));
  console.log(JSON.stringify(said));
}
