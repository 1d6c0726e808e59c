/** Words of the source that are allowed in few places, and the search for them anywhere else. */
import ts from 'typescript';
import type { Sources } from './layers.ts';

/** A pattern of code, where it may stand, and why nowhere else. */
export interface Confinement {
  readonly what: string;
  readonly code: RegExp;
  /** Files that the rule is about. */
  readonly files: RegExp;
  /** Those of them that may. */
  readonly except: RegExp;
  readonly why: string;
}

const SERVER_SIDE = /^(?:server|workers)\//;
const SHIPPED = /^(?:server|workers|sdk|forms|console)\//;
const EDGE =
  /^server\/(?:(?:main|commands)\.ts$|telemetry\/log-sink\.ts$|sink\/target\.ts$|boot\/|cli[./]|(?:[a-z-]+\/)+(?:[a-z]+-)*command\.ts$|(?:backup|import)\/)/;
const NOWHERE = /^$/;

/**
 * The only places that parse JSON with the runtime's parser, with what they parse. None of it comes from a
 * request: that goes through server/domain/json/json.ts, which keeps every number's text and refuses repeated names.
 */
export const JSON_PARSED_IN: Readonly<Record<string, string>> = {
  'forms/base/config.ts': 'what the service put into the page, and the style of elements, member by member',
  'forms/page/submit.ts': "a reply's body, with its numbers as texts",
  'sdk/calls/vault-batch.ts': "an item's data given as text: only whether it is JSON, the value is dropped",
  'sdk/transport/errors.ts': "a refusal's body, of which only checked parts are kept",
  'sdk/transport/pages.ts': "a reply's body",
  'sdk/seal/seal.ts': 'a sealed reply, whose parts are opened or refused',
  'sdk/webhook/webhook.ts': "a webhook's body, once its signature fits",
  'server/backup/file.ts': "a backup's header, which is compared with a schema",
  'server/backup/restore-command.ts': "an authenticated backup's counts",
  'server/import/state.ts': 'the state of an import, which is compared with a schema',
  'console/ui/json.ts': 'what a person has typed, in their own browser',
  'console/app/newest.ts': 'a cursor that the page itself has written',
  'server/config/files.ts': "the operator's own files",
  'server/domain/json/json.ts': 'one string literal, already scanned',
  'server/domain/json/named.ts': 'one string literal, already scanned',
  'server/domain/reply/json.ts': 'one string literal, already scanned',
  'server/domain/text/json-tokens.ts': "a third party's text: only whether it is JSON, the value is dropped",
  'server/http/compile.ts': 'a reply that is compared with its schema',
  'server/audit/verifier.ts': 'a checkpoint, before its signature is checked',
  'server/log-heads/verify.ts': 'a checkpoint, before its signature is checked',
  'server/certificate/certificates.ts': 'an opened certificate record',
  'server/core/cursors.ts': 'an authenticated cursor',
  'server/crypto/client.ts': 'an opened record',
  'server/request/idempotency.ts': 'an opened kept reply',
  'server/vault/card-metadata.ts': 'a row of the BIN table',
  'server/rule/rules.ts': 'an opened rule',
  'workers/jobs/certificate/handlers.ts': 'an opened record',
  'workers/jobs/codec.ts': "the server's own parameters of a job, and a thread's own reply",
  'workers/jobs/context.ts': 'an opened record, or an order between two jobs',
  'workers/pool/failure.ts': "a thread's own failure",
};

export const CONFINEMENTS: readonly Confinement[] = [
  {
    what: '.expose()',
    code: /\.\s*expose\s*\(/,
    files: SERVER_SIDE,
    except:
      /^workers\/jobs\/codec\.ts$|^server\/(?:crypto\/client\.ts$|http\/arrival\.ts$|outbound\/|config\/|boot\/|main\.ts$|cli[./]|(?:[a-z-]+\/)+(?:[a-z]+-)*(?:routes|command)\.ts$|(?:backup|import)\/)/,
    why: 'secrets are used by server/crypto/client.ts, read and returned at the HTTP edge, and sent by outbound alone',
  },
  {
    what: 'the environment',
    code: /\bprocess\s*\.\s*env\b|\b(?:Bun|import\.meta)\s*\.\s*env\b/,
    files: SHIPPED,
    except: /^server\/config\//,
    why: 'settings are read once, in server/config',
  },
  {
    what: 'console',
    // Not a file of that name, in a path or a quotation.
    code: /(?<![/'])\bconsole\s*[.[]/,
    files: SHIPPED,
    // In a page there is no logger; settings and attributes are named there, never what they hold.
    except: new RegExp(`${EDGE.source}|^forms/base/advise\\.ts$|^server/form/html\\.ts$`),
    why: 'what is logged goes through the logger, which knows what to leave out',
  },
  {
    what: 'standard output',
    code: /\bprocess\s*\.\s*std(?:out|err)\b/,
    files: SHIPPED,
    except: EDGE,
    why: 'what is logged goes through the logger, which knows what to leave out',
  },
  {
    what: 'a cipher',
    code: /\bcreate(?:C|Dec)ipheriv\b/,
    files: SHIPPED,
    except: /^workers\/crypto\/(?:primitives\/symmetric|item\/lookup)\.ts$/,
    why: 'workers/crypto/primitives/symmetric.ts is the one place that chooses nonces and checks tags',
  },
  {
    what: 'the WebCrypto API',
    code: /\bcrypto\s*\.\s*subtle\b/,
    files: SERVER_SIDE,
    // It has ML-KEM, which node:crypto lacks.
    except: /^workers\/crypto\/primitives\/x-wing\.ts$/,
    why: 'workers/crypto/primitives/symmetric.ts is the one place that chooses nonces and checks tags',
  },
  {
    what: 'weak chance',
    code: /\bMath\s*\.\s*random\b/,
    files: SERVER_SIDE,
    except: NOWHERE,
    why: 'a guessable number among secrets is a hole; use node:crypto',
  },
  {
    what: 'JSON.parse',
    code: /\bJSON\s*\.\s*parse\b/,
    files: SHIPPED,
    except: new RegExp(`^(?:${Object.keys(JSON_PARSED_IN).join('|').replaceAll('.', '\\.')})$`),
    why: 'what a caller sent is parsed by server/domain/json/json.ts, with every digit kept',
  },
  {
    what: 'code made of text',
    code: /\beval\s*\(|\bnew\s+Function\s*\(/,
    files: SHIPPED,
    except: NOWHERE,
    why: 'data must never become code',
  },
];

/** Every use of a confined pattern outside its places, one line each. Comments do not count. */
export function findEscapes(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const rules = CONFINEMENTS.filter(({ files, except }) => files.test(path) && !except.test(path));
    return rules.length === 0 ? [] : escapesOf(path, withoutComments(path, text), rules);
  });
}

function escapesOf(path: string, text: string, rules: readonly Confinement[]): string[] {
  return rules
    .filter(({ code }) => code.test(text))
    .map(({ what, code, why }) => `${path} uses ${what} (${lineOf(text, code)}): ${why}`);
}

function lineOf(text: string, code: RegExp): string {
  return (
    text
      .split('\n')
      .find((line) => code.test(line))
      ?.trim() ?? 'over several lines'
  );
}

const printer = ts.createPrinter({ removeComments: true });

function withoutComments(path: string, text: string): string {
  return printer.printFile(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
}

/** The places of all properties that a schema marks with `x-secret`, such as `CreateKeyBody.passphrase`. */
export function secretPlaces(schema: unknown, place: string): string[] {
  if (typeof schema !== 'object' || schema === null) {
    return [];
  }
  const own = 'x-secret' in schema && schema['x-secret'] === true ? [place] : [];
  const inner = Object.entries(schema).flatMap(([name, value]) =>
    secretPlaces(value, SCHEMA_WORDS.has(name) ? place : `${place}.${name}`),
  );
  return [...own, ...inner];
}

/** Levels of a schema that are not levels of the data. */
const SCHEMA_WORDS = new Set(['properties', 'items', 'anyOf', 'allOf', 'oneOf', 'patternProperties']);
