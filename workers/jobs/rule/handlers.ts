import { workedMs } from '../../../server/core/cpu-budget.ts';
import { VaultError } from '../../../server/core/errors.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import {
  type JsonObject,
  type JsonValue,
  parseJson,
  parseStoredObject,
  toPlain,
} from '../../../server/domain/json/json.ts';
import { maskForced } from '../../../server/domain/mask/mask.ts';
import { invalidAt, member, objectAt, rejectOthers } from '../../../server/domain/proxy/fields.ts';
import { checkOperations, type RuleOperation } from '../../../server/domain/rule/check.ts';
import {
  type CompiledRules,
  compileRules,
  type OperationOutcome,
  runRules,
} from '../../../server/domain/rule/engine.ts';
import { runRulesMasked } from '../../../server/domain/rule/masked.ts';
import { isIdentifier } from '../../../server/domain/text/identifiers.ts';
import { randomBytes } from '../../crypto/primitives/random.ts';
import { sha256 } from '../../crypto/primitives/symmetric.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { RULE_JOBS, ThreadRules } from './jobs.ts';

/** Limit of the cache of compiled rules, in bytes of their records. */
const READY_BYTES_MAX = 1_048_576;

interface Ready {
  readonly rules: CompiledRules;
  readonly bytes: number;
}
/** Compiled rules by name, the least recently used first. */
const ready = new Map<string, Ready>();
let readyBytes = 0;

const ENVIRONMENT = { now: workedMs, randomBytes };

/** Applies rules to data to be sent, within the limits of one item. The object is not changed. */
export function applyRules(
  context: ThreadContext,
  aid: string,
  rules: ThreadRules,
  object: JsonObject,
): JsonObject {
  return runRules(compiled(context, aid, rules), object, ENVIRONMENT);
}

/** Applies rules to data to be stored. With a forced mask no rule can reveal a number. */
export function applyRulesBeforeStorage(
  context: ThreadContext,
  { aid, forcedMask }: { readonly aid: string; readonly forcedMask: boolean },
  rules: ThreadRules,
  object: JsonObject,
): JsonObject {
  const run = forcedMask ? runRulesMasked : runRules;
  return run(compiled(context, aid, rules), object, ENVIRONMENT);
}

/** The operations of all rules, in the order of the rules. */
function compiled(context: ThreadContext, aid: string, rules: ThreadRules): CompiledRules {
  return { operations: rules.flatMap(({ id, record }) => readyRule(context, aid, id, record).operations) };
}

/** Compiles a rule, once while it is in the cache. Its key has a digest of the record, so that it was opened before. */
function readyRule(context: ThreadContext, aid: string, id: string, record: Uint8Array): CompiledRules {
  const name = `${aid} ${id} ${sha256(record).toBase64()}`;
  const known = ready.get(name);
  if (known) {
    drop(name, known);
    keep(name, known);
    return known.rules;
  }
  const opened = context.sealer.open('record', aid, 'rule', [id], record);
  const rules = compileRules([parseOwn<readonly RuleOperation[]>(opened)]);
  keep(name, { rules, bytes: record.length });
  return rules;
}

function drop(name: string, { bytes }: Ready): void {
  ready.delete(name);
  readyBytes -= bytes;
}

function keep(name: string, made: Ready): void {
  ready.set(name, made);
  readyBytes += made.bytes;
  for (const [oldest, other] of ready) {
    if (readyBytes <= READY_BYTES_MAX || other === made) {
      return;
    }
    drop(oldest, other);
  }
}

/** Bytes of the operations of a rule as JSON text: compiled they take many times as much. */
const RULE_BYTES_MAX = 163_840;

export const RULE_HANDLERS: ThreadHandlers<typeof RULE_JOBS> = {
  checkRule(_context, { body }) {
    const operations = toJsonBytes(checkOperations(body.length === 0 ? {} : toPlain(parseJson(body))));
    if (operations.length > RULE_BYTES_MAX) {
      throw new VaultError('invalid_request', {
        field: 'body',
        expected: `must have at most ${RULE_BYTES_MAX} bytes of operations`,
      });
    }
    return operations;
  },

  readRuleTest(_context, { params: { refuseUnknown }, body }) {
    const { id, operations } = readTest(body, refuseUnknown);
    if ((id === undefined) === (operations === undefined)) {
      throw invalidAt('body', 'must have either `id` or `operations`');
    }
    return id === undefined ? {} : { id };
  },

  testRule(context, { params: { aid, forcedMask }, rules, body }) {
    const { operations: own, input } = readTest(body, false);
    const stored = rules.map(({ id, record }) => context.sealer.open('record', aid, 'rule', [id], record));
    const operations =
      own === undefined
        ? stored.flatMap((record) => parseOwn<readonly RuleOperation[]>(record))
        : checkOperations({ operations: toPlain(own) });
    const outcomes: OperationOutcome[] = [];
    const environment = {
      ...ENVIRONMENT,
      onOperation: (outcome: OperationOutcome) => outcomes.push(outcome),
    };
    const run = forcedMask ? runRulesMasked : runRules;
    const output = run(compileRules([operations]), input, environment);
    const steps = operations.map((operation, at) => stepOf(operation, outcomes[at] ?? 'done'));
    return encodeJson(
      new Map<string, JsonValue>([
        ['output', forcedMask ? maskForced(output) : output],
        ['steps', steps],
      ]),
    );
  },
};

/** Reads the body of a test. Throws `invalid_request` at the first invalid field. */
function readTest(body: Uint8Array, refuseUnknown: boolean) {
  const test = parseStoredObject(body);
  if (refuseUnknown) {
    rejectOthers(test, ['id', 'operations', 'input'], 'body');
  }
  const id = member(test, 'id');
  if (id !== undefined && (typeof id !== 'string' || !isIdentifier(id))) {
    throw invalidAt('body.id', 'must be the id of a rule');
  }
  return { id, operations: member(test, 'operations'), input: objectAt(member(test, 'input'), 'body.input') };
}

const REASONS: Readonly<Record<Exclude<OperationOutcome, 'done'>, string>> = {
  missing: 'The input field does not exist.',
  copied: 'The operation does not support this input, which was copied unchanged.',
};

/** The step of one operation in the reply of a test. */
function stepOf({ name, input_field, output_field }: RuleOperation, outcome: OperationOutcome): JsonObject {
  const output = output_field ?? input_field ?? '*';
  return new Map<string, JsonValue>([
    ['name', name],
    ['output_field', output],
    ['skipped', outcome !== 'done'],
    ...(outcome === 'done' ? [] : [['reason', REASONS[outcome]] as const]),
  ]);
}
