import type { JsonObject } from '../../server/domain/json.ts';
import { type CompiledRules, compileRules, type Operation, runRules } from '../../server/domain/rule.ts';
import { runRulesMasked } from '../../server/domain/rule-masked.ts';
import { IntegrityError, readBytes, readU32 } from '../crypto/bytes.ts';
import { sha256 } from '../crypto/hash.ts';
import { randomBytes } from '../crypto/random.ts';
import type { ThreadContext } from './context.ts';
import type { RulesParams } from './kinds.ts';

const COMPILED_MAX = 256;
const decoder = new TextDecoder();
const compiled = new Map<string, CompiledRules>();

function* unpack(packed: Uint8Array): Generator<Uint8Array> {
  let at = 0;
  while (at < packed.length) {
    const length = readU32(packed, at);
    yield readBytes(packed, at + 4, length);
    at += 4 + length;
  }
}

const openRules = (context: ThreadContext, aid: string, ids: readonly string[], packed: Uint8Array) => {
  const records = [...unpack(packed)];
  if (records.length !== ids.length) {
    throw new IntegrityError('rules');
  }
  return records.map((record, i) => {
    const text = context.sealer.open('record', aid, 'rule', [ids[i] ?? ''], record);
    return JSON.parse(decoder.decode(text)) as readonly Operation[];
  });
};

/** The rules of a job, ready to run; remembered by the very bytes of their records, which opened before. */
function rulesOf(
  context: ThreadContext,
  aid: string,
  ids: readonly string[],
  packed: Uint8Array,
): CompiledRules {
  const name = `${aid} ${ids.join(',')} ${sha256(packed).toBase64()}`;
  const known = compiled.get(name);
  if (known) {
    return known;
  }
  const made = compileRules(openRules(context, aid, ids, packed));
  const oldest = compiled.size >= COMPILED_MAX ? compiled.keys().next().value : undefined;
  if (oldest !== undefined) {
    compiled.delete(oldest);
  }
  compiled.set(name, made);
  return made;
}

/** Time is what this thread has worked: rules do not fail because others keep the machine busy. */
const workedMs = (): number => {
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
