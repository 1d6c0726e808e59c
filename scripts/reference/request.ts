/** The request that shows how an operation is called. */
import type { Call, Parameter } from './document.ts';
import { exampleOf } from './schema.ts';

/** The vault of the examples: the page shows its own in the place of it. */
const ORIGIN = 'http://127.0.0.1:8080';
const PASSPHRASE = 'X-Vault-Passphrase';
/** How a request signs in, by the name of the scheme; the guide has the same variables. */
const SIGNED: Readonly<Record<string, string>> = {
  credential: '-H "Authorization: Bearer $OPERATOR"',
  captureSecret: '-H "X-Vault-Capture-Secret: $SECRET"',
  session: `-H "Cookie: vault_session=$SESSION" -H 'Sec-Fetch-Site: same-origin'`,
  retrieveSecret: '-H "X-Vault-Retrieve-Secret: $SECRET"',
};

function textOf({ example, schema }: Parameter): string {
  const value = example ?? exampleOf(schema);
  return Array.isArray(value) ? value.join(',') : String(value);
}

/** The parameter that decides which kind of reply comes, where a description begins with it. */
function choiceOf({ description }: Call): string | undefined {
  return /^With `(\w+)`/.exec(description)?.[1];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function bodyOf({ requestBody }: Call): readonly string[] {
  const [content] = Object.entries(requestBody?.content ?? {});
  if (content === undefined) {
    return [];
  }
  const [type, { schema, example = exampleOf(schema) }] = content;
  return type === 'application/json'
    ? [`-d ${quoted(JSON.stringify(example, null, 2))}`]
    : [`-H 'Content-Type: ${type}'`, `--data-binary ${quoted(String(example))}`];
}

/** A command that calls an operation with what it needs. */
export function commandOf(call: Call, path: string): string {
  const choice = choiceOf(call);
  const sent = call.parameters.filter(
    ({ name, required }) => required || [PASSPHRASE, 'key', choice].includes(name),
  );
  const values = new Map(sent.map((parameter) => [parameter.name, textOf(parameter)]));
  const query = new URLSearchParams();
  for (const { name } of sent.filter((parameter) => parameter.in === 'query')) {
    query.set(name, values.get(name) ?? '');
  }
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => values.get(name) ?? '');
  const target = `${ORIGIN}${place}${query.size === 0 ? '' : `?${query}`}`;
  const [scheme = ''] = call.security.flatMap((each) => Object.keys(each));
  const signed = SIGNED[scheme];
  const body = bodyOf(call);
  const isPlain = call.method === (body.length > 0 ? 'POST' : 'GET');
  return [
    `curl -sS${scheme === 'basicAuth' ? 'u "$AUTH"' : ''}${isPlain ? '' : ` -X ${call.method}`} ${quoted(target)}`,
    ...(signed === undefined ? [] : [signed]),
    ...sent
      .filter((parameter) => parameter.in === 'header')
      .map(({ name }) => `-H ${quoted(`${name}: ${values.get(name)}`)}`),
    ...body,
  ].join(' \\\n  ');
}
