import { type JsonObject, parseJson } from '../../server/domain/json/json.ts';
import { toPlain } from '../../server/domain/json/plain.ts';
import { checkOperations } from '../../server/domain/rule/check.ts';
import { runRulesMasked } from '../../server/domain/rule/masked.ts';
import { type CompiledRules, compileRules, type Operation, runRules } from '../../server/domain/rule/rule.ts';
import { IntegrityError, readBytes, readU32 } from '../crypto/primitives/bytes.ts';
import { sha256 } from '../crypto/primitives/hash.ts';
import { randomBytes } from '../crypto/primitives/random.ts';
import { field, type Handler, JobFailure, type ThreadContext, toJsonBytes } from './context.ts';
import type { RulesParams } from './kinds.ts';

/** A rule's operations as JSON text, in bytes at most: what is made ready of it takes many times as much. */
const RULE_BYTES_MAX = 163_840;
/** What is kept ready, as the bytes of the rules' records. */
const READY_BYTES_MAX = 1_048_576;
const decoder = new TextDecoder();

interface Ready {
  readonly rules: CompiledRules;
  readonly bytes: number;
}
// The least lately used first.
const ready = new Map<string, Ready>();
let readyBytes = 0;

function* unpack(packed: Uint8Array): Generator<Uint8Array> {
  let at = 0;
  while (at < packed.length) {
    const length = readU32(packed, at);
    yield readBytes(packed, at + 4, length);
    at += 4 + length;
  }
}

function forget(name: string, { bytes }: Ready): void {
  ready.delete(name);
  readyBytes -= bytes;
}

function remember(name: string, made: Ready): void {
  ready.set(name, made);
  readyBytes += made.bytes;
  for (const [oldest, other] of ready) {
    if (readyBytes <= READY_BYTES_MAX || other === made) {
      return;
    }
    forget(oldest, other);
  }
}

/** One rule, ready to run; remembered by its place and the very bytes of its record, which opened before. */
function readyRule(context: ThreadContext, aid: string, id: string, record: Uint8Array): CompiledRules {
  const name = `${aid} ${id} ${sha256(record).toBase64()}`;
  const known = ready.get(name);
  if (known) {
    forget(name, known);
    remember(name, known);
    return known.rules;
  }
  const text = decoder.decode(context.sealer.open('record', aid, 'rule', [id], record));
  const rules = compileRules([JSON.parse(text) as readonly Operation[]]);
  remember(name, { rules, bytes: record.length });
  return rules;
}

/** The rules of a job, one behind the other. */
function rulesOf(
  context: ThreadContext,
  aid: string,
  ids: readonly string[],
  packed: Uint8Array,
): CompiledRules {
  const records = [...unpack(packed)];
  if (records.length !== ids.length) {
    throw new IntegrityError('rules');
  }
  const rules = records.map((record, i) => readyRule(context, aid, ids[i] ?? '', record));
  return { operations: rules.flatMap(({ operations }) => operations) };
}

/** Reads and checks the body that makes a rule. */
export const checkRule: Handler = (_context, fields) => {
  const body = field(fields, 1);
  const operations = toJsonBytes(checkOperations(body.length === 0 ? {} : toPlain(parseJson(body))));
  if (operations.length > RULE_BYTES_MAX) {
    throw new JobFailure('invalid_request', 'body');
  }
  return [operations];
};

/** Time is what this thread has worked: rules and templates do not fail because others keep the machine busy. */
export const workedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
const ENVIRONMENT = { now: workedMs, randomBytes };

/** Runs the rules of a job over what goes out, within the bounds that one item has. The object stays as it is. */
export const applyRules = (
  context: ThreadContext,
  params: RulesParams & { readonly aid: string },
  packed: Uint8Array,
  object: JsonObject,
): JsonObject => runRules(rulesOf(context, params.aid, params.rules, packed), object, ENVIRONMENT);

/** The same for what is to be stored: with a forced mask no rule puts a number where it could be read. */
export const applyRulesBeforeStorage = (
  context: ThreadContext,
  params: RulesParams & { readonly aid: string; readonly forcedMask: boolean },
  packed: Uint8Array,
  object: JsonObject,
): JsonObject => {
  const run = params.forcedMask ? runRulesMasked : runRules;
  return run(rulesOf(context, params.aid, params.rules, packed), object, ENVIRONMENT);
};
