import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { callsOf, readApi } from '../../scripts/reference/document.ts';
import { commandOf } from '../../scripts/reference/request.ts';
import { exampleOf } from '../../scripts/reference/schema.ts';
import { isOfConsole, programOf, readExamples, sdkCallsOf } from '../../scripts/reference/typescript.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { routeErrors } from '../../server/http/route.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { operatorClient } from '../helpers/credentials.ts';
import { person } from '../helpers/people.ts';
import { openTestVault } from '../helpers/vault.ts';
import { createClient } from '../http/client.ts';
import { WIRES } from '../sdk/wires.ts';

const client = createClient();
const api = await readApi(new URL('../../sdk/openapi.json', import.meta.url));
const calls = callsOf(api);

beforeAll(buildGuide, 60_000);

/** The part of a page that is about one operation, as text without places to break a line. */
async function sectionOf(noun: string, operationId: string): Promise<string> {
  const { status, text } = await client.send('GET', `/docs/${noun}`);
  expect(status).toBe(200);
  const [, section = ''] = text.replaceAll('<wbr>', '').split(`<h2 id="${operationId}">`);
  return section.split('<h2 id=')[0] ?? '';
}

test('every operation has its place, with all that it takes and all its errors', async () => {
  for (const route of ROUTES) {
    const section = await sectionOf(route.noun, route.operationId);
    const names = [...Object.keys(route.params.properties), ...Object.keys(route.query.properties)];
    const parts = [
      `>${route.method}</b> <code>${route.path}</code>`,
      ...names.map((name) => `<code>${name}</code>`),
      ...routeErrors(route).map((code) => `href="/guide/errors#${code}"`),
    ];
    expect([route.operationId, parts.filter((part) => !section.includes(part))]).toEqual([
      route.operationId,
      [],
    ]);
  }
});

describe('the TypeScript of an operation', async () => {
  const examples = await readExamples(new URL('../../docs/sdk.md', import.meta.url));

  /** Whether a request is one of the operation; forms of both kinds have the same calls. */
  const isOf = (request: string, { method, path = '' }: (typeof calls)[number]): boolean => {
    const [sent, target = ''] = request.split(/[ ?]/);
    const pattern = path.replace('/capture/iframe', '/retrieve/iframe').replaceAll(/\{(\w+)\}/g, '[^/]+');
    // `forms.get` reads one of the list.
    return sent === method && (new RegExp(`^${pattern}$`).test(target) || target === '/v1/retrieve/iframe');
  };

  test('is that of the SDK which sends it', () => {
    const ofThirdParties = /^\/v1\/(?:relay|inbound\/\{id\})\//;
    const isOfSdk = (path: string): boolean => !ofThirdParties.test(path) && !isOfConsole(path);
    for (const call of calls.filter(({ path }) => path !== undefined && isOfSdk(path))) {
      const names = sdkCallsOf(call);
      expect([call.operationId, names.length > 0]).toEqual([call.operationId, true]);
      for (const name of names) {
        expect([name, WIRES[name] !== undefined && isOf(WIRES[name].request, call)]).toEqual([name, true]);
      }
    }
  });

  test('stands beside the request', async () => {
    for (const call of calls) {
      const section = await sectionOf(call.tags[0] ?? '', call.operationId);
      const [, shown = ''] = section.split('aria-label="TypeScript"><code>');
      const text = shown.split('</code>')[0]?.replaceAll(/<[^>]*>/g, '') ?? '';
      expect(text.trimEnd()).toBe(Bun.escapeHTML(programOf(call, examples)));
    }
  });
});

test('the example of a reply is one', () => {
  for (const route of ROUTES) {
    const call = calls.find(({ operationId }) => operationId === route.operationId);
    const { schema } = call?.responses['200']?.content?.['application/json'] ?? {};
    expect(schema === undefined).toBe(route.html === 'always' || route.file !== undefined);
    if (schema !== undefined) {
      expect([...TypeCompiler.Compile(route.response).Errors(exampleOf(schema))]).toEqual([]);
    }
  }
});

test('the calls of webhooks have their places, with the names of what they contain', async () => {
  const hooks = calls.filter(({ path }) => path === undefined);
  expect(hooks).toHaveLength(Object.keys(api.webhooks).length);
  for (const { operationId } of hooks) {
    expect(await sectionOf('webhook', operationId)).toContain('<code>webhook-signature</code>');
  }
});

test('the overview leads to every operation, once', async () => {
  const { text } = await client.send('GET', '/docs');
  const led = [...text.matchAll(/href="\/docs\/\w+#(\w+)"/g)].map(([, id = '']) => id);
  expect(led.sort()).toEqual(calls.map(({ operationId }) => operationId).sort());
});

describe('the requests that the pages show', () => {
  const CREDENTIALS = { AUTH: '', OPERATOR: '', SECRET: 'vcs1_none', SESSION: '' };
  let url = '';
  let close = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const vault = await openTestVault({ workers: 2 });
    const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
    const account = await vault.account();
    CREDENTIALS.AUTH = `${account.name}:${account.password}`;
    CREDENTIALS.OPERATOR = (await operatorClient(vault)).made.secret;
    CREDENTIALS.SESSION = (await person(vault, account, 'owner')).cookie.replace('vault_session=', '');
    url = `http://127.0.0.1:${server.port}`;
    close = async () => {
      await server.stop(true);
      await vault.close();
    };
  });
  afterAll(() => close());

  /** The first make what the others use, and the last take it away. */
  const rankOf = (name: string): number => {
    const first = ['createKey', 'storeItem'].indexOf(name);
    return first >= 0 ? first : name === 'signOut' ? 4 : /^(?:change|delete)/.test(name) ? 3 : 2;
  };
  /** They ask a third party, need one that an operator has set up, or take what a device has just signed. */
  const ABROAD = ['proxyGet', 'requestNetworkToken', 'addPasskey'];
  const asked = calls.filter(({ path, operationId }) => path !== undefined && !ABROAD.includes(operationId));
  const sorted = asked.toSorted((a, b) => rankOf(a.operationId) - rankOf(b.operationId));

  test.each(sorted.map((call) => [call.operationId, call] as const))(
    '%s is well-formed for the server',
    async (_name, call) => {
      const command = commandOf(call, call.path ?? '').replace('http://127.0.0.1:8080', url);
      const shell = Bun.spawn(['sh', '-c', `${command} -o /dev/null -w '%{http_code}'`], {
        env: { PATH: process.env['PATH'], ...CREDENTIALS },
        stdout: 'pipe',
      });
      // What an example names is not there for most operations; what it asks is understood by all.
      expect(await new Response(shell.stdout).text()).toMatch(/^(?:200|403|404|409)$/);
    },
  );
});
