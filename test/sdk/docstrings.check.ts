import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { packSdk } from '../helpers/packed-sdk.ts';
import { type Documented, documentedOf, programOf } from './declarations.ts';

const root = join(import.meta.dir, '../..');
const READ_MS_MAX = 60_000;
/** Its one member is no call of ours but what headers must have. */
const NO_CALLS = /^WebhookHeaders\./;

let path = '';
let names: readonly Documented[] = [];
function calls(): readonly Documented[] {
  return names.filter(({ name, isCall }) => isCall && !NO_CALLS.test(name));
}
function textsOf({ tags }: Documented, tag: string): string[] {
  return tags.filter(({ name }) => name === tag).map(({ text }) => text);
}

beforeAll(async () => {
  path = join(await packSdk(), 'cardvault-sdk.d.ts');
  names = documentedOf(programOf(path), path);
}, READ_MS_MAX);

describe('the declarations of the package', () => {
  test('say of every exported name and of every member what it is', () => {
    expect(names.length).toBeGreaterThan(500);
    expect(names.filter(({ text }) => text === '').map(({ name }) => name)).toEqual([]);
  });

  test('show every call in use', () => {
    expect(calls().length).toBeGreaterThan(60);
    const bare = calls().filter((call) => textsOf(call, 'example').every((text) => text === ''));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  test('lead from every call to a page of the guide that is there', () => {
    const lost = calls().filter((call) => {
      const [page, ...more] = textsOf(call, 'see').map((text) => /^\/guide\/([a-z-]+)$/.exec(text)?.[1]);
      const files = [`docs/guides/${page}.md`, `docs/${page}.md`];
      return more.length > 0 || page === undefined || !files.some((file) => existsSync(join(root, file)));
    });
    expect(lost.map(({ name }) => name)).toEqual([]);
  });

  test('have no tag that editors show as such in place of the text', () => {
    const odd = names.filter(({ tags }) => tags.some(({ name }) => name === 'description'));
    expect(odd.map(({ name }) => name)).toEqual([]);
  });
});

/** Words of a program, each between bars, and what an editor must say over it. */
const HOVERED: readonly (readonly [line: string, text: RegExp])[] = [
  ['client.vault.store({ |user|: "a", data: {} })', /^Identifier of the vault key\./],
  ['client.vault.store({ user: "a", |reference|: "r", data: {} })', /^Your own reference for lookups/],
  ['client.vault.store({ user: "a", |algorithm|: "luhn", data: {} })', /^The format of the token/],
  ['client.vault.store({ user: "a", |data|: {} })', /^An object, or the exact JSON text of one/],
  [
    'client.vault.store({ user: "a", |passphrase|: "p", data: {} })',
    /^The passphrase of the vault key; by default that of the client/,
  ],
  ['client.vault.|store|({ user: "a", data: {} })', /^Stores an object.*@see \/guide\/items.*@example/s],
  ['client.capture.create({ user: "a", |ttl|: "1h" })', /^The lifetime of the endpoint/],
  ['client.forms.create({ theme: { |primary_color|: "red" } })', /^Colour of the button/],
  ['client.vault.decrypt({ user: "a", token: "t" }, { |timeoutMs|: 1 })', /^Overrides the client's/],
  ['(await client.vault.store({ user: "a", data: {} })).|stored_at|', /^When the item was stored/],
  ['(await client.vault.store({ user: "a", data: {} })).|card_metadata|', /^Data derived from a card number/],
];

/** An editor's help for a program next to the declarations. */
function editorOf(text: string): (at: number) => string {
  const file = join(path, '../program.ts');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Preserve, strict: true };
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const found = name === file ? text : ts.sys.readFile(name);
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
  });
  return (at) => {
    const info = service.getQuickInfoAtPosition(file, at);
    const tags = (info?.tags ?? []).map((tag) => `@${tag.name} ${ts.displayPartsToString(tag.text).trim()}`);
    return [ts.displayPartsToString(info?.documentation), ...tags].join('\n');
  };
}

test(
  'an editor says what options, calls and members of results are',
  () => {
    const head = "import { Vault } from './cardvault-sdk.js';\ndeclare const client: Vault;\nexport {};\n";
    const marked = HOVERED.map(([line]) => `${line};\n`);
    const hover = editorOf(head + marked.join('').replaceAll('|', ''));
    let at = head.length;
    for (const [index, [line, text]] of HOVERED.entries()) {
      expect([line, hover(at + line.indexOf('|'))]).toEqual([line, expect.stringMatching(text)]);
      at += (marked[index]?.length ?? 0) - 2;
    }
  },
  READ_MS_MAX,
);
