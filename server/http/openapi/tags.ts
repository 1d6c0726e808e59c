import type { Noun } from '../route.ts';

/** A part of the API, with what viewers show in place of its name, and its page of the guide. */
interface Tag {
  readonly name: string;
  readonly 'x-displayName': string;
  readonly description: string;
  readonly externalDocs?: { readonly url: string; readonly description: string };
}

/** Titles are those of the guide, and the order is that in which viewers list them. */
const TAGS: Readonly<
  Record<Noun | 'webhook', readonly [title: string, description: string, guide?: string]>
> = {
  key: ['Keys', 'Keys, each protected by a passphrase that only you know.', 'keys'],
  vault: ['Items', 'Store, read, update and delete objects.', 'items'],
  capture: ['Capture endpoints', 'Endpoints that let third parties store objects under your key.', 'capture'],
  retrieve: ['Retrieval endpoints', 'Endpoints that let third parties read objects of your key.', 'retrieve'],
  form: ['Hosted forms', 'Hosted forms that capture or display data.', 'forms'],
  rule: ['Rules', 'Named lists of operations that transform data.', 'rules'],
  proxy: ['Requests to third parties', 'Requests to third parties that contain stored data.', 'proxy'],
  job: ['Jobs', 'Asynchronous requests and webhooks: see, repeat and cancel them.', 'jobs'],
  connection: ['Connections', 'Addresses and credentials of third parties, which are never shown.', 'relay'],
  webhook: ['Webhooks', 'Calls that the vault makes to you.', 'webhooks'],
  credential: ['Credentials', 'Credentials with a part of the rights of your account.', 'least-privilege'],
  admin: ['Account and bills', 'Your account.', 'billing-and-preferences'],
  audit: ['Security log', 'The security log of your account.', 'audit'],
  utility: ['Utilities', 'Check card numbers and generate passphrases.'],
};

/** The tags of a document, as far as it uses them. */
export function tagsOf(used: ReadonlySet<string>): readonly Tag[] {
  return Object.entries(TAGS)
    .filter(([name]) => used.has(name))
    .map(([name, [title, description, guide]]) => ({
      name,
      'x-displayName': title,
      description,
      ...(guide === undefined ? {} : { externalDocs: { url: `/guide/${guide}`, description: 'Guide' } }),
    }));
}
