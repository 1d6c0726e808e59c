/** Golden entries that say what they have changed, and the head that keeps the newest revision of the account's record. */
import { expect, test } from 'bun:test';
import { changeText, parseChange } from '../../../workers/crypto/log/audit-change.ts';
import { openAuditEntry, openAuditMark } from '../../../workers/crypto/log/audit-entry.ts';
import { createServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import golden from '../../vectors/golden-records.json';
import { expectDamageRefused, expectRefused, hex } from './fixture.ts';

const { audit, inputs } = golden;
const sealer = createServiceSealer({
  env: inputs.env,
  ring: { writeId: inputs.ringId, keys: new Map([[inputs.ringId, hex(inputs.masterKey)]]) },
});
function open(sequence: number, record: Uint8Array) {
  return openAuditEntry(sealer, hex(audit.key), inputs.aid, sequence, record);
}

test('what it says of changed records is read, and its head has the newest revision of the account', () => {
  const { entries, changes, head } = golden.auditChanges;
  for (const [i, record] of entries.entries()) {
    const entry = open(i + 3, hex(record));
    expect({ ...entry.change }).toEqual({ ...changes[i] } as never);
  }
  const mark = openAuditMark(sealer, inputs.aid, 'head', hex(head));
  expect(mark).toMatchObject({ sequence: 6, revision: 7 });
  expectDamageRefused(hex(head), (bad) => openAuditMark(sealer, inputs.aid, 'head', bad));
  expectDamageRefused(hex(entries[0] ?? ''), (bad) => open(3, bad));
  // No other text stands for a change.
  for (const text of [
    '',
    'account',
    'account -1',
    'account 1 ',
    'endpoint a b',
    `endpoint a ${'0'.repeat(32)} `,
    `credentials a ${'0'.repeat(32)}`,
  ]) {
    expectRefused(() => parseChange(text));
  }
  for (const kind of ['endpoint', 'credential'] as const) {
    const change = { kind, id: 'a', digest: '0'.repeat(32) };
    for (const isGone of [true, false]) {
      expect(parseChange(changeText({ ...change, isGone }))).toEqual({ ...change, isGone });
    }
  }
});
