import { describe, expect, test } from 'bun:test';
import { admitted, askOnce, type PageAround } from '../../forms/page/admission.ts';
import type { Outcome } from '../../forms/page/submit.ts';

const API = 'https://vault.example/base';
const REFUSED = { failure: { status: 0, code: 'origin_not_allowed' } };

function around(origin: string | undefined, framed = true): PageAround {
  return { framed, origin: async () => origin };
}
function stateOf(origins?: unknown): Outcome {
  return { reply: { unique_id: 'shop', origins } };
}

describe('a page around', () => {
  test.each<[string, PageAround, unknown]>([
    ['that is named', around('https://shop.example'), ['https://other.example', 'https://shop.example']],
    ['of the service itself', around('https://vault.example'), ['https://shop.example']],
    ['of an endpoint for all', around('https://any.example'), undefined],
    ['without an origin, where that is named', around('null'), ['null']],
    ['that is none', around(undefined, false), ['https://shop.example']],
  ])('%s is admitted', async (_, page, origins) => {
    const state = stateOf(origins);
    expect(await admitted(state, page, API)).toBe(state);
  });

  test.each<[string, string | undefined, readonly string[]]>([
    ['that is not named', 'https://other.example', ['https://shop.example']],
    ['whose name begins as one that is', 'https://shop.example.evil', ['https://shop.example']],
    ['that is unknown', undefined, ['https://shop.example', 'null']],
    ['that begins as the service does', 'https://vault.exampl', ['https://shop.example']],
    ['for which nothing is named', 'https://shop.example', []],
  ])('%s is not', async (_, origin, origins) => {
    expect(await admitted(stateOf(origins), around(origin), API)).toMatchObject(REFUSED);
  });

  test('is not asked of where the endpoint has failed', async () => {
    const gone = { failure: { status: 410, code: 'endpoint_gone', error: '' } };
    expect(await admitted(gone, around('https://other.example'), API)).toBe(gone);
  });
});

test('a state is asked once, and again after a failure that may pass', async () => {
  const failure = { failure: { status: 0, code: 'network', error: '' } };
  const outcomes: Outcome[] = [failure, stateOf(), stateOf()];
  const ask = askOnce(async () => outcomes.shift() ?? failure);
  expect(await Promise.all([ask(), ask()])).toEqual([failure, failure]);
  expect(await ask()).toEqual(stateOf());
  expect(await ask()).toEqual(stateOf());
  expect(outcomes).toHaveLength(1);
});
