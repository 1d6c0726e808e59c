/** Requests made from the OpenAPI document and then spoiled: the vault answers each as its document says. */

import { API } from '../../server/boot/routes.ts';
import { isErrorCode } from '../../server/core/errors.ts';
import { buildOpenApi } from '../../server/http/openapi/document.ts';
import { type Answer, answerOf, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';
import type { Chance } from './chance.ts';
import { bodyOf, type Schema, type Source, textFor } from './from-schema.ts';
import { damagedText } from './mutate.ts';
import { Fault, hold, type Suite } from './suite.ts';
import { CANARY, hostileText } from './values.ts';
import { openWorld, type World } from './world.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly type: string; readonly schema: Schema } | undefined;
  /** Changes an account or a key for good: done to the victim alone. */
  readonly isDestructive: boolean;
}

const MS_MAX = 10_000;
/** The two refusals that a busy service may answer with. */
const BUSY = ['503 overloaded', '503 store_unavailable'];
const DESTRUCTIVE = new Set(['createKey', 'changePassphrase', 'deleteKey', 'changePassword']);
/** Deleted things are missed by later cases, so there are new ones now and then. */
const WORLD_CASES = 300;
/** They cost an unlocking, or take away what other cases need. */
const RARE_SHARE = 0.06;
/** Each of them costs an unlocking. */
const WRONG_PASSPHRASE_SHARE = 0.01;

type Operations = readonly [Operation, ...Operation[]];

const DOCUMENT = buildOpenApi(API, 'http://localhost');

function operationsOf(): Operations {
  const [first, ...rest] = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => {
      const {
        parameters = [],
        requestBody,
        operationId,
      } = described as never as {
        readonly parameters?: readonly Parameter[];
        readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
        readonly operationId: string;
      };
      const [content] = Object.entries(requestBody?.content ?? {});
      return {
        ...{ method: method.toUpperCase(), path, parameters },
        body: content && { type: content[0], schema: content[1].schema },
        isDestructive: DESTRUCTIVE.has(operationId),
      };
    }),
  );
  if (first === undefined) {
    throw new Fault('the document has no operations');
  }
  return [first, ...rest];
}

interface Draft {
  path: string;
  readonly query: (readonly [name: string, value: string])[];
  readonly headers: Map<string, string>;
  body: string | undefined;
}

function draftOf({ parameters, path, body }: Operation, source: Source, chance: Chance): Draft {
  const draft: Draft = { path, query: [], headers: new Map(), body: undefined };
  for (const { name, in: place, required = false, schema } of parameters) {
    if (place === 'path') {
      draft.path = draft.path.replace(`{${name}}`, encodeURIComponent(textFor(name, schema, source, chance)));
    } else if (place === 'query' && name !== 'passphrase' && chance.hits(required ? 0.97 : 0.25)) {
      draft.query.push([name, textFor(name, schema, source, chance)]);
    } else if (name === 'X-Vault-Passphrase') {
      const isWrong = chance.hits(WRONG_PASSPHRASE_SHARE);
      draft.headers.set(name, encodeURIComponent(isWrong ? `wrong ${CANARY}` : PASSPHRASE));
    } else if (name === 'Idempotency-Key' && chance.hits(0.15)) {
      draft.headers.set(name, `key-${chance.int(50)}`);
    }
  }
  if (body !== undefined) {
    draft.body = bodyOf(body.schema, source, chance);
    draft.headers.set('Content-Type', body.type);
  }
  return draft;
}

/** Percent escapes that are none, that are not UTF-8, or that hide what they are. */
const BROKEN = ['%', '%zz', '%ff', '%ed%a0%80', '%00', '%2e%2e', '%252f', '+', '%0d%0a'] as const;
const HEADERS = ['Content-Type', 'Accept', 'X-Forwarded-For', 'User-Agent', 'Idempotency-Key'] as const;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'] as const;

function spoil(draft: Draft, known: readonly Parameter[], chance: Chance): void {
  const inQuery = known.filter((each) => each.in === 'query' && each.name !== 'passphrase');
  const any = inQuery[chance.int(inQuery.length)]?.name ?? 'user';
  const latin = (text: string): string => text.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '').trim();
  chance.pick<() => void>([
    () => void draft.query.push([any, hostileText(chance)]),
    () => void draft.query.splice(0, draft.query.length, [any, hostileText(chance)]),
    () => void draft.query.push([hostileText(chance), hostileText(chance)]),
    () => void draft.query.splice(chance.int(draft.query.length + 1), 1),
    () => {
      draft.path += chance.pick([
        '/',
        '//',
        '/..',
        ';a=b',
        '%2f',
        `/${encodeURIComponent(hostileText(chance).toWellFormed())}`,
      ]);
    },
    () => void draft.headers.set(chance.pick(HEADERS), latin(hostileText(chance)).slice(0, 4_000)),
    () => {
      draft.body = draft.body && damagedText(draft.body, chance);
    },
    () => {
      draft.body = hostileText(chance);
    },
  ])();
}

function kindOf(path: string): keyof World['secrets'] {
  return path.startsWith('/capture') ? 'capture' : 'retrieve';
}

function requestOf(operation: Operation, world: World, chance: Chance): Request {
  const schemas = DOCUMENT.components.schemas as Source['schemas'];
  const kind = kindOf(operation.path);
  const draft = draftOf(operation, { schemas, fitting: world.fitting(chance, kind) }, chance);
  for (let left = chance.pick([0, 0, 1, 1, 2, 3]); left > 0; left -= 1) {
    spoil(draft, operation.parameters, chance);
  }
  const who = operation.isDestructive ? world.victim : world.owner;
  if (chance.hits(0.96)) {
    draft.headers.set('Authorization', basicAuth(who.name, who.password));
  }
  if (operation.path.endsWith('{unique_id}')) {
    draft.headers.set(`X-Vault-${kind === 'capture' ? 'Capture' : 'Retrieve'}-Secret`, world.secrets[kind]);
  }
  const pairs = draft.query.map(
    ([name, value]) =>
      `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`,
  );
  const broken = chance.hits(0.05) ? `&user=${chance.pick(BROKEN)}` : '';
  const url = `http://localhost/v1${draft.path}?${pairs.join('&')}${broken}`.slice(0, 60_000);
  const method = chance.hits(0.97) ? operation.method : chance.pick(METHODS);
  const hasBody = draft.body !== undefined && method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? Buffer.from(draft.body ?? '', 'latin1') : undefined;
  return new Request(url, { method, headers: Object.fromEntries(draft.headers), ...(body && { body }) });
}

function checkRefusal(answer: Answer, about: string): void {
  const {
    code,
    request_id,
    field = '',
  } = answer.as<{ code?: string; request_id?: string; field?: string }>();
  hold(isErrorCode(code ?? ''), () => `${about} was answered ${answer.status} without a code`);
  hold(request_id === answer.headers.get('x-request-id'), () => `${about}: two request ids`);
  const told = `${answer.text}${JSON.stringify([...answer.headers])}`;
  // An unknown name is told, a value never.
  const name = code === 'unknown_parameter' ? field.replace(/^(?:query|body)\.?/, '') : '';
  hold(!told.replaceAll(name, '').includes(CANARY), () => `${about} was answered with what was sent`);
  hold(answer.status < 500 || BUSY.includes(answer.outcome), () => `${about} was answered ${answer.outcome}`);
}

export const REQUESTS: Suite = {
  name: 'requests',
  share: 260,
  atOnce: 16,
  open: async () => {
    const vault = await openTestVault({ authFailuresMax: 0, alone: true, proxy: {}, jobs: false });
    const worlds = new Map<number, Promise<World>>();
    const worldOf = (number: number): Promise<World> => {
      const at = Math.floor(number / WORLD_CASES);
      const world = worlds.get(at) ?? openWorld(vault);
      worlds.set(at, world);
      return world;
    };
    const operations = operationsOf();
    const isRare = ({ method, isDestructive }: Operation): boolean => isDestructive || method === 'DELETE';
    const rare = operations.filter(isRare) as unknown as Operations;
    const common = operations.filter((each) => !isRare(each)) as unknown as Operations;
    return {
      run: async (chance, number) => {
        const operation = chance.pick(chance.hits(RARE_SHARE) ? rare : common);
        const request = requestOf(operation, await worldOf(number), chance);
        const about = `${request.method} ${request.url.slice(0, 200)}`;
        const begun = performance.now();
        const answer = await answerOf(await vault.handle(request));
        hold(performance.now() - begun < MS_MAX, () => `${about} took more than ${MS_MAX} ms`);
        hold(answer.headers.has('x-request-id'), () => `${about} was answered without a request id`);
        if (answer.status >= 400 && request.method !== 'HEAD') {
          checkRefusal(answer, about);
        }
      },
      finish: async () => {
        // The name of an unknown parameter is in the log, so that a caller can be helped.
        const lines = vault.lines.map((line) =>
          line.code === 'unknown_parameter' ? { ...line, field: '' } : line,
        );
        const logged = JSON.stringify([lines, vault.events]);
        const at = logged.indexOf(CANARY);
        hold(at < 0, () => `the log holds what was sent: ${logged.slice(Math.max(0, at - 200), at + 40)}`);
        await vault.close();
      },
    };
  },
};
