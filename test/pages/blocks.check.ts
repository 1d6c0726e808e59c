import { expect, test } from 'bun:test';
import { CLAIMS, claimsOn, isRun } from './claims.ts';
import { ALL_BLOCKS, type CodeBlock } from './code-blocks.ts';
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

test('no two pages create the same key, so that a reader may try them all', () => {
  const CREATED =
    /"(?:key|user)":"([\w-]+)","passphrase":"[^"]*"\}|keys\.create\(\{ (?:key|user): '([\w-]+)'/g;
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

test('recipes ask for nothing but sh and Node, and one of them for types', () => {
  const blocks = ALL_BLOCKS.filter(({ page }) => page.startsWith('docs/recipes/'));
  const typed = blocks.filter(({ info }) => /^(?:ts|bash)\b/.test(info ?? ''));
  expect([...new Set(typed.map(({ page }) => page))]).toEqual(['docs/recipes/elements-and-stripe.md']);
  const commands = blocks
    .filter(({ info }) => info === 'sh')
    .map(({ code }) => code.replaceAll('bun@1.4.5', ''));
  expect(commands.filter((code) => /\bbun\b|\bnpx tsx\b/.test(code))).toEqual([]);
});
