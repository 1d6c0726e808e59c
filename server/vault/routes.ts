import type { Static } from '@sinclair/typebox';
import { untilClosed } from '../core/byte-stream.ts';
import { VaultError } from '../core/errors.ts';
import { objectOf } from '../http/audit.ts';
import { nextTokenHeader, replayHeader } from '../http/reply.ts';
import { defineRoute, type ScopeRule } from '../http/route.ts';
import type { Limiter } from '../limits/limiter.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { AccessListing } from './access.ts';
import type { VaultTrees } from './list/list.ts';
import type { ItemRemover } from './remover.ts';
import {
  AccessEntries,
  AccessQuery,
  ItemsReply,
  LogEntries,
  LogQuery,
  ReadQuery,
  Removal,
  RemoveQuery,
  StoredObject,
  StoreQuery,
  TokenInfo,
  UpdateObject,
  UpdateQuery,
} from './schema.ts';
import type { Vault } from './vault.ts';

interface Needs {
  readonly accessListing: AccessListing;
  readonly limiter: Limiter;
  readonly remover: ItemRemover;
  readonly trees: VaultTrees;
  readonly vault: Vault;
}

function needed<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined) {
    throw new VaultError('invalid_request', { field, expected: 'is missing' });
  }
  return value;
}

/** The scope of a request for items, which decrypts or only lists. */
const READING: ScopeRule = {
  anyOf: ['vault:list', 'vault:read'],
  of: ({ query: { token, decrypt_all: decryptAll }, passphrase }) =>
    decryptAll === true || (token !== undefined && passphrase !== undefined) ? 'vault:read' : 'vault:list',
};

const IF_MATCH = 'If-Match';
const TAG = /^(?:W\/)?"([\da-f]{16})"$/;

/** The ETag of an item's data. */
function versionHeader({
  version,
}: {
  readonly version: string | undefined;
}): Readonly<Record<string, string>> {
  return version === undefined ? {} : { ETag: `"${version}"` };
}

/** The version that a request names; undefined without one, and for `*`, since the item must exist anyway. */
function ifMatchOf(headers: Headers): string | undefined {
  const text = headers.get(IF_MATCH)?.trim();
  if (text === undefined || text === '*') {
    return undefined;
  }
  // Any other tag is that of no version.
  return TAG.exec(text)?.[1] ?? text;
}

const storeItem = defineRoute({
  method: 'POST',
  path: '/v1/vault',
  operationId: 'storeItem',
  scope: 'vault:store',
  noun: 'vault',
  summary: 'Store an object',
  description:
    'Encrypts and stores a JSON object under a key and returns its token. The same number and reference under the same key give the same token (except with `uuid`); storing again replaces the data.',
  auth: 'basic',
  query: StoreQuery,
  passphrase: 'required',
  body: { kind: 'stored', schema: StoredObject, bytesMax: BODY_BYTES.item },
  response: TokenInfo,
  errors: ['number_missing', 'test_card', 'metadata_sensitive', 'passphrase_wrong', 'key_not_found'],
  meter: ['store'],
  idempotent: true,
  audit: { action: 'item.store', of: 'errors', object: ({ query }) => objectOf('key', query.user) },
  handle: async ({ ctx, query, passphrase, body }, services: Needs) => {
    const { reply, replayed } = await services.vault.store(ctx, { ...query, passphrase, body });
    return { json: reply, headers: { ...replayHeader(replayed), ...versionHeader(ctx) } };
  },
});

const readItems = defineRoute({
  method: 'GET',
  path: '/v1/vault',
  operationId: 'readItems',
  scope: READING,
  noun: 'vault',
  summary: 'Decrypt an item, or list items',
  description:
    'With `token` and the passphrase, returns the stored object. Otherwise returns a tree of items that match the filters; with `decrypt_all`, `key` and the passphrase each item includes its data. Numbers are masked unless the operator has enabled unmasked output for the account.',
  auth: 'basic',
  query: ReadQuery,
  passphrase: 'optional',
  body: { kind: 'none' },
  response: ItemsReply,
  errors: [
    'reference_required',
    'cursor_invalid',
    'passphrase_wrong',
    'key_not_found',
    'token_not_found',
    'rule_not_found',
    'rule_limit',
    'key_changed',
  ],
  meter: ['decrypt', 'list'],
  idempotent: false,
  audit: {
    action: 'item.decrypt',
    of: 'errors',
    object: ({ query }) => objectOf('item', query.user, query.token),
  },
  handle: async ({ ctx, query, passphrase }, services: Needs) => {
    const { user, token, mask_fields, rules = [], decrypt_all, return_card_metadata, ...filter } = query;
    const view = { mask_fields, rules, return_card_metadata };
    if (token !== undefined) {
      needed(user, 'query.user');
    }
    if (user !== undefined && token !== undefined && passphrase !== undefined) {
      const address = { user, token, reference: query.reference };
      const jsonBytes = await services.vault.decrypt(ctx, { ...address, ...view, passphrase });
      return { jsonBytes, headers: versionHeader(ctx) };
    }
    const { stream, nextToken } = decrypt_all
      ? await services.trees.decryptAll(ctx, {
          ...filter,
          ...view,
          user: needed(user, 'query.user'),
          passphrase: needed(passphrase, 'query.passphrase'),
        })
      : await services.trees.list(ctx, { ...filter, user, token });
    return { stream, headers: nextTokenHeader(nextToken) };
  },
});

/** Rejects contradictory parameters of a deletion. */
function checkRemoval({ all, token, next_token }: Static<typeof RemoveQuery>, headers: Headers): void {
  if (all && headers.has(IF_MATCH)) {
    const expected = 'cannot be sent with `all`';
    throw new VaultError('invalid_request', { field: `header.${IF_MATCH}`, expected });
  }
  if (all && token !== undefined) {
    throw new VaultError('invalid_request', { field: 'query.token', expected: 'cannot be sent with `all`' });
  }
  if (!all && next_token !== undefined) {
    const expected = 'can be sent with `all` only';
    throw new VaultError('invalid_request', { field: 'query.next_token', expected });
  }
}

const removeItem = defineRoute({
  method: 'DELETE',
  path: '/v1/vault',
  operationId: 'deleteItem',
  scope: 'vault:delete',
  noun: 'vault',
  summary: 'Delete an item, or all items of a reference',
  description:
    'With `token`, deletes an item with its log. Its token is never used for another number. With `all` and `reference`, deletes all items of the reference, at most 10,000 a call: the reply has X-Vault-Next-Token while there are more. Each item is billed as one deletion.',
  auth: 'basic',
  query: RemoveQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: Removal,
  errors: ['reference_required', 'cursor_invalid', 'token_not_found', 'key_not_found', 'version_mismatch'],
  meter: ['delete'],
  idempotent: false,
  audit: {
    action: 'item.delete',
    of: 'all',
    object: ({ query }) => objectOf('item', query.user, query.token),
  },
  handle: async ({ ctx, query, request }, services: Needs) => {
    checkRemoval(query, request.headers);
    const { user, reference, all, next_token } = query;
    if (!all) {
      const token = needed(query.token, 'query.token');
      await services.vault.remove(ctx, { user, token, reference, ifMatch: ifMatchOf(request.headers) });
      return { json: { message: 'The item was deleted.' } };
    }
    const { deleted, nextToken } = await services.remover.erase(ctx, {
      ...{ user, next_token },
      reference: needed(reference, 'query.reference'),
    });
    return {
      json: { message: 'The items of the reference were deleted.', deleted },
      headers: nextTokenHeader(nextToken),
      object: objectOf('items', user, `${deleted}`),
    };
  },
});

const updateItem = defineRoute({
  method: 'POST',
  path: '/v1/vault/update',
  operationId: 'updateItem',
  scope: 'vault:update',
  noun: 'vault',
  summary: 'Update an item',
  description:
    'Merges the given members into the stored object, first level only, and sets stored_at to the current time. The number of an item cannot be changed. With `ttl` or `metadata` the body may be empty.',
  auth: 'basic',
  query: UpdateQuery,
  passphrase: 'required',
  body: { kind: 'stored', schema: UpdateObject, bytesMax: BODY_BYTES.item, optional: true },
  response: TokenInfo,
  errors: [
    'reference_required',
    'passphrase_wrong',
    'key_not_found',
    'token_not_found',
    'rule_not_found',
    'rule_limit',
    'metadata_sensitive',
    'version_mismatch',
  ],
  meter: ['update'],
  idempotent: true,
  audit: {
    action: 'item.update',
    of: 'errors',
    object: ({ query }) => objectOf('item', query.user, query.token),
  },
  handle: async ({ ctx, query, passphrase, body, request }, services: Needs) => {
    const { reply, replayed } = await services.vault.update(ctx, {
      ...query,
      ifMatch: ifMatchOf(request.headers),
      rules: query.rules ?? [],
      passphrase,
      body,
    });
    return { json: reply, headers: { ...replayHeader(replayed), ...versionHeader(ctx) } };
  },
});

const readLog = defineRoute({
  method: 'GET',
  path: '/v1/vault/metadata',
  operationId: 'readLog',
  scope: 'vault:log',
  noun: 'vault',
  summary: 'Read the action log of an item',
  description: 'One entry for each encryption and decryption of the item, newest first.',
  auth: 'basic',
  query: LogQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: LogEntries,
  errors: ['reference_required', 'cursor_invalid', 'token_not_found', 'key_not_found'],
  meter: ['log'],
  idempotent: false,
  audit: { action: 'item.log', of: 'all', object: ({ query }) => objectOf('item', query.user, query.token) },
  handle: async ({ ctx, query }, services: Needs) => {
    const { entries, nextToken } = await services.vault.log(ctx, query);
    return { json: entries, headers: nextTokenHeader(nextToken) };
  },
});

const readAccess = defineRoute({
  method: 'GET',
  path: '/v1/vault/access',
  operationId: 'readAccess',
  scope: 'audit:read',
  noun: 'vault',
  summary: 'List readings of items',
  description:
    'Lists the successful readings of items over the account, newest first: by whom, from where, and through which endpoint. The same entries are in the action logs of the items; a deleted item takes its readings with it, and readings are listed for the retention of logs. A page may have fewer entries than `limit`, or none: continue while the reply has X-Vault-Next-Token.',
  auth: 'basic',
  query: AccessQuery,
  response: AccessEntries,
  errors: ['cursor_invalid', 'key_not_found', 'integrity_failed'],
  meter: [],
  audit: {
    action: 'item.log',
    of: 'all',
    object: ({ query: { user } }) => (user === undefined ? 'items' : objectOf('items', user)),
  },
  handle: async ({ ctx, query }, services: Needs) => {
    if (query.limit < 0) {
      const end = await services.limiter.hold('list', ctx.account.aid);
      try {
        return { stream: untilClosed(await services.accessListing.listAll(ctx, query), end) };
      } catch (error) {
        end();
        throw error;
      }
    }
    const { entries, nextToken } = await services.accessListing.list(ctx, query);
    return { json: entries, headers: nextTokenHeader(nextToken) };
  },
});

export const VAULT_ROUTES = [storeItem, readItems, removeItem, updateItem, readLog, readAccess];
