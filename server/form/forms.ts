import { bindParts } from '../core/bind.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { mapAhead, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import {
  FIRST_CHECK_MS,
  NEVER_MS,
  removeEntry,
  sweepEntries,
  takeBack,
} from '../redis/records/directory-sweep.ts';
import type { AccountContext } from '../request/context.ts';
import type { FormSettings, FormTypeName, ShownFormSettings } from './schema.ts';
import { checkFormSettings } from './settings.ts';
import type { FormEntry, FormStore, StoredForm } from './store.ts';

/** A form, as its owner has set it up. */
export interface HostedForm {
  readonly id: string;
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
}

/** A form can have most of a megabyte. */
const READ_AHEAD = 4;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BUILT_IN: ReadonlyMap<string, HostedForm> = new Map(
  (['pcd', 'ach'] as const).map((name) => [name, { id: name, form_type: name, settings: {} }]),
);

interface FormParts {
  readonly crypto: Pick<Crypto, 'sealRecord' | 'openRecord'>;
  readonly formStore: FormStore;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'environment'>;
}

/** Hosted forms: named settings of pages that any browser may load. They are sealed, since they hold code of their owner. */
export type HostedForms = ReturnType<typeof createHostedForms>;

/** Makes the forms of a server. */
export function createHostedForms(parts: FormParts) {
  return bindParts(parts, { create, replace, read, list, remove, open, sweep });
}

function placeOf(aid: string, id: string) {
  return { purpose: 'record', account: aid, kind: 'form', path: [id] } as const;
}

async function openForm(
  { crypto }: FormParts,
  id: string,
  { aid, settings }: StoredForm,
): Promise<HostedForm> {
  const opened = decoder.decode(await crypto.openRecord({ place: placeOf(aid, id), record: settings }));
  return { id, ...(JSON.parse(opened) as Omit<HostedForm, 'id'>) };
}

/** Stores sealed settings: reserves the id, enters it in the directory, and commits. */
async function put(
  { formStore, now }: FormParts,
  aid: string,
  entry: FormEntry,
  settings: Uint8Array,
): Promise<void> {
  if (!(await formStore.reserve(entry.id, entry.nonce))) {
    throw new VaultError('form_exists', { field: 'query.form_id' });
  }
  try {
    if (!(await formStore.enter(aid, entry, now() + FIRST_CHECK_MS))) {
      throw new VaultError('forms_full');
    }
    if (!(await formStore.commit(entry.id, { nonce: entry.nonce, aid, settings }))) {
      // This has taken so long that the reservation has expired, or the account was deleted.
      throw new VaultError('overloaded');
    }
  } catch (error) {
    await takeBack(formStore, aid, entry);
    throw error;
  }
}

/** Creates a form; without `form_id` its id is random. Rejects with `invalid_request`, `form_exists` and `forms_full`. */
async function create(
  parts: FormParts,
  { account: { aid } }: AccountContext,
  input: {
    readonly form_id?: string | undefined;
    readonly form_type: FormTypeName;
    readonly settings: FormSettings;
  },
): Promise<HostedForm> {
  const { form_id: id = parts.randomId(), form_type } = input;
  if (BUILT_IN.has(id)) {
    throw new VaultError('form_exists', { field: 'query.form_id' });
  }
  const { form, sealed } = await sealForm(parts, aid, { id, form_type }, input.settings);
  await put(parts, aid, { nonce: parts.randomId(), id }, sealed);
  return form;
}

/** Checks settings, and seals them as those of a form. Rejects with `invalid_request`. */
async function sealForm(
  { crypto, settings: { environment } }: FormParts,
  aid: string,
  { id, form_type }: Omit<HostedForm, 'settings'>,
  given: FormSettings,
): Promise<{ readonly form: HostedForm; readonly sealed: Uint8Array }> {
  const settings = checkFormSettings(form_type, given, environment);
  const plaintext = encoder.encode(JSON.stringify({ form_type, settings }));
  const sealed = await crypto.sealRecord({ place: placeOf(aid, id), plaintext });
  return { form: { id, form_type, settings }, sealed };
}

/** Replaces all settings of a form; its type stays. Rejects with `invalid_request` and `form_not_found`. */
async function replace(
  parts: FormParts,
  { account: { aid } }: AccountContext,
  id: string,
  settings: FormSettings,
): Promise<HostedForm> {
  const stored = await findOwn(parts, aid, id);
  const { form_type } = await openForm(parts, id, stored);
  const { form, sealed } = await sealForm(parts, aid, { id, form_type }, settings);
  if (!(await parts.formStore.replace(id, { nonce: stored.nonce, aid, settings: sealed }))) {
    throw new VaultError('form_not_found');
  }
  return form;
}

async function findOwn(
  { formStore }: FormParts,
  aid: string,
  id: string,
  field?: string,
): Promise<StoredForm> {
  const stored = isIdentifier(id) ? await formStore.read(id) : undefined;
  if (stored?.aid !== aid) {
    throw new VaultError('form_not_found', { field });
  }
  return stored;
}

/** A form of the account. Rejects with `form_not_found`. */
async function read(parts: FormParts, { account: { aid } }: AccountContext, id: string): Promise<HostedForm> {
  return openForm(parts, id, await findOwn(parts, aid, id, 'query.form_id'));
}

/** A form of any account, or one that is built in, for any caller. Rejects with `form_not_found`. */
async function open(parts: FormParts, id: string): Promise<HostedForm> {
  const builtIn = BUILT_IN.get(id);
  if (builtIn) {
    return builtIn;
  }
  const stored = isIdentifier(id) ? await parts.formStore.read(id) : undefined;
  if (!stored) {
    throw new VaultError('form_not_found');
  }
  return openForm(parts, id, stored);
}

/** Whether a form is the one of an entry: directories are not sealed, and may name the forms of others. */
function isEntered(aid: string, nonce: string, stored: StoredForm | undefined): stored is StoredForm {
  return stored?.nonce === nonce && stored.aid === aid;
}

async function* readAll(
  parts: FormParts,
  aid: string,
  show: (form: HostedForm) => object,
): AsyncGenerator<readonly object[]> {
  const entries = [...(await parts.formStore.entries(aid))].sort((a, b) => (a.id < b.id ? -1 : 1));
  yield* mapAhead(entries, READ_AHEAD, async ({ id, nonce }) => {
    const stored = await parts.formStore.read(id);
    return isEntered(aid, nonce, stored) ? [show(await openForm(parts, id, stored))] : [];
  });
}

/** All forms of the account in the order of their ids, each as `show` presents it, as the JSON text of a list. */
function list(
  parts: FormParts,
  { account: { aid } }: AccountContext,
  show: (form: HostedForm) => object,
): Promise<ReadableStream<Uint8Array>> {
  return listStreamOf(readAll(parts, aid, show));
}

/** Deletes a form of the account and releases its id. Rejects with `form_not_found`. */
async function remove(parts: FormParts, { account: { aid } }: AccountContext, id: string): Promise<void> {
  const { nonce } = await findOwn(parts, aid, id);
  if (!(await removeEntry(parts.formStore, aid, { nonce, id }, parts.now()))) {
    throw new VaultError('form_not_found');
  }
}

/** Removes what interrupted creations and deletions have left. */
function sweep({ formStore, now }: FormParts, aid: string): Promise<void> {
  return sweepEntries(formStore, aid, now, async (entry) => {
    // A damaged form is left for the operator to examine.
    const stored = await recover(formStore.read(entry.id), 'integrity_failed', 'damaged');
    const isThere = stored === 'damaged' || isEntered(aid, entry.nonce, stored);
    await (isThere ? formStore.postpone(aid, entry, NEVER_MS) : formStore.remove(aid, entry));
  });
}
