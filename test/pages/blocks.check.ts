import { describe, expect, test } from 'bun:test';
import { CLAIMS, claimsOn, isRun } from './claims.ts';
import { ALL_BLOCKS, type CodeBlock, codeBlocksOf } from './code-blocks.ts';
import { commandFaults } from './commands.ts';
import { typeErrors } from './type-errors.ts';

function nameOf({ page, line, info }: CodeBlock): string {
  return `${page}:${line} (${info ?? 'indented'})`;
}

test('every block of code of every page is run, or somebody answers for it', () => {
  expect(ALL_BLOCKS.length).toBeGreaterThan(300);
  expect(ALL_BLOCKS.filter((block) => !isRun(block) && claimsOn(block).length !== 1).map(nameOf)).toEqual([]);
});

test('nobody answers for blocks that there are not', () => {
  const idle = CLAIMS.filter((claim) => !ALL_BLOCKS.some((block) => claimsOn(block).includes(claim)));
  expect(idle.map(({ page, info }) => `${page} ${info}`)).toEqual([]);
});

const CHECKED = ALL_BLOCKS.flatMap((block) =>
  claimsOn(block).flatMap(({ faults, by }) =>
    faults === undefined ? [] : [{ name: nameOf(block), by, block, faults }],
  ),
);

test.each(CHECKED)('$name is right by $by', async ({ block, faults }) => {
  expect(await faults(block)).toEqual([]);
});

test('the examples of the comments of the SDK, and of the pages of the forms, have the right types', () => {
  const examples = ALL_BLOCKS.filter(
    ({ page, info }) =>
      info === 'tsx' || (info === 'ts' && (page === 'docs/sdk.md' || page === 'forms/README.md')),
  );
  const wrong = [
    ['wrong', 'const keys: number = await client.keys.list();'],
    [
      'wrong component',
      "import { CardCvc } from '@cardvault/forms/react';\nexport const cvc = <CardCvc onSubmit={() => 1} />;",
    ],
  ] as const;
  const errors = typeErrors(
    new Map([...examples.map((block) => [nameOf(block), block.code] as const), ...wrong]),
  );
  expect([...errors.keys()]).toEqual(['wrong', 'wrong component']);
  expect(errors.get('wrong component')?.join()).toContain('onSubmit');
});

describe('what counts as code', () => {
  const infosOf = (markdown: string): unknown[] =>
    codeBlocksOf('page.md', markdown).map(({ info, code, after }) => [info, code, after !== undefined]);

  test('is what stands between fences, whatever is in it', () => {
    expect(infosOf('a\n\n```sh\necho\n\n    b\n```\n\n```json\n{}\n```\nc\n```\nd\n```\n')).toEqual([
      ['sh', 'echo\n\n    b\n', false],
      ['json', '{}\n', true],
      ['', 'd\n', false],
    ]);
  });

  test('is what is indented by four, but not in a list', () => {
    expect(infosOf('a:\n\n    b\n    c\n\n- d\n\n    e\n\nf\n    g\n')).toEqual([
      [undefined, 'b\nc\n', false],
    ]);
  });
});

test.each([
  ['bun run nothing', 'package.json has no such script'],
  ['bun run start now', 'the script takes nothing'],
  ['npx --yes bun@1.0.0 run start', 'package.json asks for Bun'],
  ['bun run vault account frobnicate', 'Unknown command'],
  ['bun run vault health --quiet=1', 'does not take an argument'],
  ['kubectl -n elsewhere get pod', 'the manifests are in cardvault'],
  ['kubectl -n cardvault scale deployment/backups --replicas=1', 'no deployment/backups'],
  ['kubectl -n cardvault wait job/backup-now', 'no job/backup-now'],
  ['kubectl -n cardvault get pod -l app=nothing', 'no pod has the label nothing'],
  ['kubectl -n cardvault frobnicate', 'is not known here'],
])('the command %s is found to be wrong', async (line, fault) => {
  expect((await commandFaults(line)).join()).toContain(fault);
});

test('no two pages create the same key, so that a reader may try them all', () => {
  const CREATED = /"user":"([\w-]+)","passphrase":"[^"]*"\}|keys\.create\(\{ user: '([\w-]+)'/g;
  const pages = new Map<string, Set<string>>();
  for (const { page, code } of ALL_BLOCKS.filter(isRun)) {
    for (const [, inShell, inCode = ''] of code.matchAll(CREATED)) {
      const key = inShell ?? inCode;
      pages.set(key, (pages.get(key) ?? new Set()).add(page));
    }
  }
  const shared = [...pages].filter(([, creators]) => creators.size > 1);
  expect(pages.size).toBeGreaterThan(15);
  expect(shared.map(([key, creators]) => [key, ...creators])).toEqual([]);
});

test('a server of an example listens on this machine alone', () => {
  const calls = ALL_BLOCKS.flatMap(({ code }) => code.match(/\blisten\(.*\)/g) ?? []);
  expect(calls.length).toBeGreaterThan(7);
  expect(calls.filter((call) => !call.endsWith(", '127.0.0.1')"))).toEqual([]);
});

test('recipes ask for nothing but sh and Node', () => {
  const blocks = ALL_BLOCKS.filter(({ page }) => page.startsWith('docs/recipes/'));
  expect(blocks.filter(({ info }) => /^(?:ts|bash)\b/.test(info ?? '')).map(nameOf)).toEqual([]);
  const commands = blocks
    .filter(({ info }) => info === 'sh')
    .map(({ code }) => code.replaceAll('bun@1.4.5', ''));
  expect(commands.filter((code) => /\bbun\b|\btsx\b/.test(code))).toEqual([]);
});

test('a setting that there is not is found to be wrong', async () => {
  await expect(commandFaults('VAULT_RATE=1 bun start')).rejects.toThrow('VAULT_RATE');
});
