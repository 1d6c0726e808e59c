/** Who answers for a block of code that no page of `RUNS` runs: each kind has a check of its own, which a test makes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Glob, YAML } from 'bun';
import { FORM_ATTRIBUTES } from '../../forms/frame/attributes.ts';
import { WEBHOOKS } from '../../server/boot/routes.ts';
import { loadConfig } from '../../server/config/config.ts';
import { SERVER_SETTING_NAMES } from '../../server/config/settings.ts';
import { Subscription } from '../../server/event/schema.ts';
import { type Value, valueFaults } from '../deploy/chart.ts';
import { CLIENTS } from '../generators/clients.ts';
import { writePrivate } from '../helpers/config.ts';
import { ALL_BLOCKS, type CodeBlock } from './code-blocks.ts';
import { commandFaults } from './commands.ts';
import { RUNS } from './pages.ts';

const ROOT = join(import.meta.dir, '..', '..');

interface Claim {
  readonly page: RegExp;
  readonly info: string | RegExp;
  /** What is wrong with a block. Left out where the test that is named runs it. */
  readonly faults?: (block: CodeBlock) => Promise<readonly string[]> | readonly string[];
  readonly by: string;
}

const RUN_INFO = /^(?:sh|ts|js|html)(?: \S+)?$|^text \S+$/;
const OUTPUT_INFO = /^(?:json|text)$/;

/** Whether the block is run with its page, or shows what the one before it prints. */
export function isRun({ page, info = '', after }: CodeBlock): boolean {
  return (
    RUNS.flat().includes(page) &&
    (RUN_INFO.test(info) ||
      (OUTPUT_INFO.test(info) && after !== undefined && RUN_INFO.test(after.info ?? '')))
  );
}

const FILES = [...new Glob('{server,workers,forms}/**/*.ts').scanSync({ cwd: ROOT })];

/** A figure names files by their whole names, or by the part before the dot where that is several words. */
function figureFaults({ code }: CodeBlock): readonly string[] {
  const names = code.match(/\b[a-z]+(?:-[a-z]+)+(?:\.ts)?\b|\b[a-z]+\.ts\b|\bserver\/\w+\b/g) ?? [];
  return names.filter((name) => !FILES.some((file) => `/${file}`.includes(`/${name}`)));
}

function settingFaults({ code }: CodeBlock): readonly string[] {
  const settings = code
    .trim()
    .split('\n')
    .map((line) => line.split(/=(.*)/s));
  const { redis } = loadConfig(Object.fromEntries(settings));
  return redis.kind === 'cluster' ? [] : ['does not name a Cluster'];
}

/** Values for the chart: it knows their names, and its settings are settings of a server. */
function chartFaults({ code }: CodeBlock): readonly string[] {
  const values = YAML.parse(code) as Value;
  loadConfig(Object(values).settings);
  return valueFaults(values);
}

/** A configuration of Prometheus: it reads the rules for alerts, under the job that they name. */
function scrapeFaults({ code }: CodeBlock): readonly string[] {
  const { rule_files, scrape_configs } = YAML.parse(code) as {
    readonly rule_files: readonly string[];
    readonly scrape_configs: readonly { readonly job_name: string }[];
  };
  const rules = readFileSync(join(ROOT, 'deploy', rule_files[0] ?? ''), 'utf8');
  const jobs = scrape_configs.map(({ job_name }) => job_name);
  return jobs.filter((job) => !rules.includes(`up{job="${job}"}`)).map((job) => `${job} is in no rule`);
}

/** Settings whose files the page tells where to put: their names are known. */
function nameFaults({ code }: CodeBlock): readonly string[] {
  const names = [...code.matchAll(/\b(VAULT_\w+)=/g)].map(([, name = '']) => name);
  const unknown = names.filter((name) => !SERVER_SETTING_NAMES.some((known) => known === name));
  return names.length === 0 ? ['has no setting'] : unknown.map((name) => `${name} is no setting`);
}

const CLIENT_SECRET = writePrivate(
  join(mkdtempSync(join(tmpdir(), 'cv-claims-')), 'secret'),
  'a client secret',
);
process.once('exit', () => rmSync(dirname(CLIENT_SECRET), { recursive: true }));

/** Settings of a provider: a start takes each, with a file of ours for the secret. */
function providerFaults({ code }: CodeBlock): readonly string[] {
  const complete = {
    ...{ VAULT_OIDC_ISSUER: 'https://login.example.com', VAULT_OIDC_CLIENT_ID: 'vault' },
    VAULT_OIDC_ROLES: 'groups=staff:shop:admin',
  };
  const settings = [...code.matchAll(/^(VAULT_OIDC_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  for (const [name = '', value] of settings) {
    loadConfig({ ...complete, [name]: value, VAULT_OIDC_CLIENT_SECRET_FILE: CLIENT_SECRET });
  }
  return settings.length === 0 ? ['has no setting'] : [];
}

/** The first steps of a client that `test:generators` makes with the same words. */
function generatorFaults({ code }: CodeBlock): readonly string[] {
  const [fetched = '', generated = ''] = code.trim().split('\n');
  const generate: readonly string[] = CLIENTS.find(({ name }) => name === 'python')?.generate ?? [];
  return [
    ...(fetched.includes("/openapi.json?webhooks=false'") ? [] : ['fetches another document']),
    ...generated
      .split(' ')
      .filter((word) => !generate.includes(word))
      .map((word) => `${word} was not tried`),
  ];
}

function configFaults({ code }: CodeBlock): readonly string[] {
  // In a list of the page the block is indented.
  const plain = (text: string): string => text.replaceAll(/^ +/gm, '').trim();
  const configs = CLIENTS.map(({ files = {} }) => plain(files['config.yml'] ?? ''));
  return configs.includes(plain(code)) ? [] : ['was not tried'];
}

/** Data that a page tells of before it is sent: by a block that is run, to the letter. */
function sentFaults({ page, code }: CodeBlock): readonly string[] {
  return ALL_BLOCKS.some((block) => block.page === page && isRun(block) && block.code.includes(code.trim()))
    ? []
    : ['is sent by no block of the page'];
}

const WEBHOOK_CHECKS = Object.values(WEBHOOKS).map(({ body }) => TypeCompiler.Compile(body));

function webhookFaults({ code }: CodeBlock): readonly string[] {
  const value: unknown = JSON.parse(code);
  return WEBHOOK_CHECKS.some((check) => check.Check(value)) ? [] : ['is no webhook'];
}

/** An event, or members of a subscription as it is shown. */
function eventFaults(block: CodeBlock): readonly string[] {
  const members = Object.keys(Subscription.properties);
  return webhookFaults(block).length === 0
    ? []
    : Object.keys(JSON.parse(block.code)).flatMap((name) =>
        members.includes(name) ? [] : [`a subscription has no ${name}`],
      );
}

/** The tag of the element may have the attributes that it knows, and the script is one that the vault serves. */
async function elementFaults({ code }: CodeBlock): Promise<readonly string[]> {
  const faults: string[] = [];
  const tags: string[] = [];
  const known = [...FORM_ATTRIBUTES, 'secret'];
  await new HTMLRewriter()
    .on('*', {
      element: ({ tagName, attributes }) => {
        tags.push(tagName);
        const names = [...attributes].map(([name]) => name);
        const unknown = names.filter((name) => tagName === 'vault-card-form' && !known.includes(name));
        faults.push(...unknown.map((name) => `${tagName} has no ${name}`));
      },
    })
    .transform(new Response(code))
    .text();
  const isWhole = tags.join() === 'script,vault-card-form' && code.includes('/forms/vault-forms.js"');
  return isWhole ? faults : [...faults, 'is not the script and the element'];
}

export const CLAIMS: readonly Claim[] = [
  {
    page: /(?<!guides\/sandbox|recipes\/one-shop|recipes\/elements-and-stripe)\.md$/,
    info: 'console',
    by: 'its words',
    faults: ({ code }) => commandFaults(code),
  },
  { page: /^docs\/architecture\.md$/, info: 'text', by: 'the files that it names', faults: figureFaults },
  {
    page: /^docs\/guides\/generated-clients\.md$/,
    info: 'sh',
    by: 'test:generators',
    faults: generatorFaults,
  },
  {
    page: /^docs\/guides\/generated-clients\.md$/,
    info: 'yaml',
    by: 'test:generators',
    faults: configFaults,
  },
  {
    page: /^docs\/guides\/master-key-sources\.md$/,
    info: 'sh',
    by: 'master-key-sources.long.ts, which pastes it',
  },
  { page: /^docs\/guides\/single-sign-on\.md$/, info: 'sh', by: 'the settings', faults: providerFaults },
  { page: /^docs\/guides\/redis-cluster\.md$/, info: 'sh', by: 'the settings', faults: settingFaults },
  { page: /^docs\/guides\/redis\.md$/, info: 'sh', by: 'the names of settings', faults: nameFaults },
  { page: /^docs\/guides\/(?:webhooks|capture)\.md$/, info: 'json', by: 'the schema', faults: webhookFaults },
  { page: /^docs\/guides\/events\.md$/, info: 'json', by: 'the schema', faults: eventFaults },
  {
    page: /^docs\/recipes\/cards-from-stripes-forwarding\.md$/,
    info: 'text',
    by: 'the block that sends in place of Stripe',
  },
  {
    page: /^docs\/recipes\/one-shop\.md$/,
    info: /^(?:sh|console|text|json|js \S+|text \S+)$/,
    by: 'one-shop.long.ts, which pastes it',
  },
  {
    page: /^docs\/recipes\/elements-and-stripe\.md$/,
    info: /^(?:sh|console|text|json|ts \S+|text \S+)$/,
    by: 'elements-and-stripe.long.ts, which pastes it',
  },
  {
    page: /^docs\/recipes\/(?!one-shop|elements-and-stripe)/,
    info: 'json',
    by: 'the block that sends it',
    faults: sentFaults,
  },
  { page: /^forms\/README\.md$/, info: 'html', by: 'the element', faults: elementFaults },
  { page: /^docs\/guides\/elements\.md$/, info: 'tsx', by: 'the compiler, in blocks.check.ts' },
  { page: /^forms\/README\.md$|^docs\/sdk\.md$/, info: 'ts', by: 'the compiler, in blocks.check.ts' },
  { page: /^sdk\/README\.md$/, info: 'ts', by: 'test/sdk/readme.test.ts, which runs it' },
  {
    page: /^docs\/guides\/(?:production|master-key)\.md$/,
    info: 'sh',
    by: 'operators.long.ts, which runs it',
  },
  { page: /^docs\/guides\/production\.md$/, info: 'json', by: 'operators.long.ts, which compares it' },
  {
    page: /^docs\/guides\/production\.md$/,
    info: 'yaml',
    by: 'the schema of the chart',
    faults: chartFaults,
  },
  { page: /^docs\/guides\/production\.md$/, info: 'acl', by: 'redis-conf.check.ts, which compares it' },
  { page: /^docs\/guides\/monitoring\.md$/, info: 'yaml', by: 'the rules for alerts', faults: scrapeFaults },
  {
    page: /^docs\/guides\/relay\.md$/,
    info: 'javascript',
    by: 'relay/services.test.ts, which runs it',
  },
  {
    page: /^docs\/guides\/sandbox\.md$/,
    info: 'console',
    by: 'sandbox.long.ts, which starts with its settings',
  },
  { page: /^docs\/guides\/sandbox\.md$/, info: 'sh', by: 'sandbox.long.ts, which runs it' },
  { page: /^docs\/guides\/sandbox\.md$/, info: 'js sandbox.mjs', by: 'sandbox.long.ts, which runs it' },
  { page: /^docs\/guides\/sandbox\.md$/, info: 'text', by: 'sandbox.long.ts, which compares it' },
  { page: /^docs\/guides\/sandbox\.md$/, info: 'text sandbox.mjs', by: 'sandbox.long.ts, which compares it' },
  { page: /^docs\/quick-start\.md$/, info: 'text', by: 'examples.long.ts, which compares it with a start' },
];

/** The claims on a block; one that is run needs none. */
export function claimsOn(block: CodeBlock): readonly Claim[] {
  const names = (info: string | RegExp): boolean =>
    info instanceof RegExp ? info.test(block.info ?? '') : info === block.info;
  return isRun(block) ? [] : CLAIMS.filter(({ page, info }) => page.test(block.page) && names(info));
}
