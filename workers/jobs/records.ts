import { createHmac } from 'node:crypto';
import { encodeReference, encodeReferenceEnd } from '../crypto/item/ref-index.ts';
import { randomBytes } from '../crypto/primitives/random.ts';
import { field, type Handler, paramsOf, ROOT_PATH, type ThreadContext } from './context.ts';
import type { EncodeReferenceParams, FingerprintParams, RecordParams } from './kinds.ts';

const recordPlace = (params: RecordParams) =>
  [params.purpose, params.account, params.kind, params.path] as const;

export const sealRecord: Handler = (context, fields) => [
  context.sealer.seal(...recordPlace(paramsOf<RecordParams>(fields)), field(fields, 1)),
];

export const openRecord: Handler = (context, fields) => [
  context.sealer.open(...recordPlace(paramsOf<RecordParams>(fields)), field(fields, 1)),
];

export const fingerprint: Handler = (context, fields) => {
  const key = context.rootKey('idem', paramsOf<FingerprintParams>(fields).account);
  return [createHmac('sha256', key).update(field(fields, 1)).digest()];
};

export const encodeIndexPrefix: Handler = (context, fields) => {
  const { aid, text, exact } = paramsOf<EncodeReferenceParams>(fields);
  const key = context.rootKey('ref-index', aid);
  return [exact ? encodeReferenceEnd(key, text) : encodeReference(key, text)];
};

export const cursorKey: Handler = (context) => [context.rootKey('cursor', '')];

export const createRoot: Handler = (context) => [
  context.sealer.seal('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, randomBytes(32)),
];

export const checkRoot: Handler = (context: ThreadContext, fields) => {
  context.sealer.open('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, field(fields, 0));
  return [];
};
