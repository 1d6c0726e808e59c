/**
 * The shapes of the API, by the names of their members on the wire. All of them come from `api.d.ts`, which is
 * generated from the service's OpenAPI document.
 */
import type { components, operations } from '../api.d.ts';

type Schemas = components['schemas'];
/** A shape of the API. What is exported of it is an interface, which compilers and editors show by its name. */
type Schema<Name extends keyof Schemas> = Schemas[Name];

/** What a caller gives: a list may be readonly, and an optional member undefined. */
type Given<T> = {
  readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? Value<T[K]> | undefined : Value<T[K]>;
};
type Value<V> = V extends readonly (infer Entry)[] ? readonly Entry[] : V;

/** The parameters of an operation; the passphrase, where there is one, goes into a header instead. */
type Query<Id extends keyof operations> = Given<
  Omit<NonNullable<operations[Id]['parameters']['query']>, 'passphrase'>
>;

type PathOf<Id extends keyof operations> = Given<NonNullable<operations[Id]['parameters']['path']>>;

interface Unlocking {
  /** Of the vault key; the client's own where it is left out. */
  readonly passphrase?: string | undefined;
}

interface Owned {
  /** Identifier of the vault key. */
  readonly user: string;
}

interface Carrying {
  /** An object, or the exact JSON text of one. */
  readonly data: StoredObject | string;
}

/** Every `code` that the service refuses with. */
export type ErrorCode = Schemas['Error']['code'];

/** Any JSON object; a member named `__proto__` is data like any other: never merge it into other objects. */
export interface StoredObject extends Schema<'StoredObject'> {}
/** A stored item, without its data. */
export interface TokenInfo extends Schema<'TokenInfo'> {}
/** What the number of a card tells of it: its first digits, its brand, and what the table of the operator knows. */
export interface CardMetadata extends Schema<'CardMetadata'> {}
/** An item in a listing; `data` and `card_metadata` only where it was opened. */
export interface TreeItem extends Schema<'TreeItem'> {}
/** Names of keys, each with a list of its items in ascending order of `stored_at`. */
export interface Tree {
  [user: string]: TreeItem[];
}
/** One use of an item. */
export interface LogEntry extends Schema<'LogEntry'> {}
/** One event of the security log. */
export interface AuditEntry extends Schema<'AuditEntry'> {}
/** A vault key. */
export interface Key extends Schema<'Key'> {}
/** A vault key with its passphrase, which is shown this once. */
export interface KeyWithPassphrase extends Schema<'KeyWithPassphrase'> {}
/** Whether the last digit of a number is right, and the brand that it tells. */
export interface LuhnResult extends Schema<'LuhnResult'> {}
/** A passphrase, made and not stored. */
export interface GeneratedPassphrase extends Schema<'GeneratedPassphrase'> {}
/** Who signed in, and what to. */
export interface WhoAmI extends Schema<'WhoAmI'> {}
/** What was done, in a sentence for a person. */
export interface Message extends Schema<'Message'> {}
/** What the month has cost so far; amounts are exact decimal texts. */
export interface Billing extends Schema<'Billing'> {}
/** What the account has stored, and how many requests it made in a month. */
export interface Usage extends Schema<'Usage'> {}
/** Which month. */
export interface ReadUsage extends Query<'readUsage'> {}
/** An account with its new password, which is shown this once. */
export interface AccountPassword extends Schema<'AccountPassword'> {}
/** The new password; one is made where it is left out. */
export interface ChangePassword extends Given<Schema<'ChangePassword'>> {}
/** A preference; `is_default` where the account has not set it. */
export interface Preference extends Schema<'Preference'> {}
/** A preference and its value: any JSON value of at most 4 KB. */
export interface SetPreference extends Given<Schema<'SetPreference'>> {}
/** Names a preference. */
export interface ReadPreference extends Query<'deletePreference'> {}
/** Names a preference. */
export interface DeletePreference extends Query<'deletePreference'> {}

/** An item with its data, as opening a whole key yields it. */
export interface DecryptedItem extends TreeItem {
  readonly data: StoredObject;
}

/** What to store, under which key, and what its token looks like. */
export interface StoreItem
  extends Omit<Query<'storeItem'>, 'card_number' | 'account_number' | 'n'>,
    Unlocking,
    Carrying {}
/** What to change of which item. */
export interface UpdateItem extends Query<'updateItem'>, Unlocking, Carrying {}
/** Names one item. */
export interface DeleteItem extends Query<'deleteItem'> {}
/** Which item's log to read. */
export interface ReadLog extends Query<'readLog'> {}

/** Names one item, and how to show it. */
export interface DecryptItem
  extends Pick<Query<'readItems'>, 'reference' | 'mask_fields' | 'rules' | 'return_card_metadata'>,
    Owned,
    Unlocking {
  /** The token that storing returned. */
  readonly token: string;
}

/** What to list; nothing means every item of the account. */
export interface ListItems
  extends Omit<Query<'readItems'>, 'decrypt_all' | 'mask_fields' | 'rules' | 'return_card_metadata'> {}

/** Which items of a key to open, and how to show them. */
export interface DecryptAll
  extends Omit<Query<'readItems'>, 'user' | 'token' | 'decrypt_all' | 'next_token'>,
    Owned,
    Unlocking {}

/** An endpoint as its owner sees it; its secret is kept nowhere. */
export interface Endpoint extends Schema<'Endpoint'> {}
/** A capture endpoint with its secret, which is shown this once. */
export interface NewCaptureEndpoint extends Schema<'CaptureEndpoint'> {}
/** A retrieval endpoint with its secret, which is shown this once. */
export interface NewRetrieveEndpoint extends Schema<'RetrieveEndpoint'> {}
/** What a third party passes on to the endpoint's owner after storing something. */
export interface Captured extends Schema<'Captured'> {}

/** Names an endpoint, by its id or by the `url` that creating it returned, and opens it. */
export type EndpointAccess = {
  /** As creating the endpoint returned it. */
  readonly secret: string;
} & (
  | {
      /** Of the endpoint; this or `url` is needed. */
      readonly unique_id: string;
      /** Not looked at beside `unique_id`. */
      readonly url?: string | undefined;
    }
  | {
      /** Needed where there is no `url`. */
      readonly unique_id?: undefined;
      /** The path that creating the endpoint returned; this or `unique_id` is needed. */
      readonly url: string;
    }
);

/** What an endpoint stores under, for how long, and what it does to data on its way in. */
export interface CreateCaptureEndpoint extends Query<'createCaptureEndpoint'>, Unlocking {}
/** What an endpoint reaches, for how long, and how it shows data. */
export interface CreateRetrieveEndpoint extends Query<'createRetrieveEndpoint'>, Unlocking {}
/** Which endpoints to list; nothing means all of the account. */
export interface ListEndpoints extends Query<'listCaptureEndpoints'>, Query<'listRetrieveEndpoints'> {}
/** Names an endpoint. */
export interface DeleteEndpoint extends PathOf<'deleteCaptureEndpoint'>, PathOf<'deleteRetrieveEndpoint'> {}

/** What to store through a capture endpoint. */
export interface CaptureItem
  extends Omit<Query<'capture'>, 'card_number' | 'account_number' | 'n'>,
    Carrying {}

/** Names one item that a retrieval endpoint reaches. */
export interface RetrieveItem extends Pick<Query<'retrieve'>, 'reference'> {
  /** The token that storing returned. */
  readonly token: string;
}

/** What to list of what a retrieval endpoint reaches; nothing means all of it. */
export interface RetrieveTree extends Omit<Query<'retrieve'>, 'token' | 'decrypt_all' | 'form_type'> {}

/** Which of the items that a retrieval endpoint reaches to open. */
export interface RetrieveAll extends Omit<RetrieveTree, 'next_token'> {}

/** A hosted form with its settings. */
export interface Form extends Schema<'Form'> {}
/** How a form looks and what it does; everything may be left out. */
export interface FormSettings extends Given<Schema<'FormSettings'>> {}
/** A field of a form beside those of its type. */
export interface FormAdditionalField extends Schema<'FormAdditionalField'> {}

/** The kind and the id of a form, and its settings. */
export interface CreateForm extends Query<'createForm'>, FormSettings {}
/** Names a form. */
export interface ReadForm extends PathOf<'deleteForm'> {}
/** Names a form. */
export interface DeleteForm extends PathOf<'deleteForm'> {}

/** A named list of operations. */
export interface Rule extends Schema<'Rule'> {}
/** One change of the data, by name. */
export interface Operation extends Schema<'Operation'> {}
/** All operations that a rule can be made of. */
export interface OperationNames extends Schema<'OperationNames'> {}

/** A new rule: its id, and what it does. */
export interface CreateRule extends Query<'createRule'> {
  /** Applied one after another; 1 to 64. */
  readonly operations: readonly Given<Operation>[];
}
/** Names a rule. */
export interface ReadRule extends Query<'deleteRule'> {}
/** Names a rule. */
export interface DeleteRule extends Query<'deleteRule'> {}

/** A request for a client certificate; its private key stays in the vault. */
export interface Csr extends Schema<'Csr'> {}
/** A client certificate; its id is the `client_cert_id` of proxy requests. */
export interface Certificate extends Schema<'Certificate'> {}
/** Who a certificate is for. Only `cn` is needed. */
export interface CreateCsr extends Given<Schema<'CreateCsr'>> {}
/** Names a request for a certificate. */
export interface DeleteCsr extends Query<'deleteCsr'> {}
/** A certificate that was issued from a request. */
export interface CreateCertificate extends Query<'createCertificate'> {
  /** One certificate in PEM; those that issued it may follow, each after the one that it issued. */
  readonly pem: string;
}
/** Which certificates to list; nothing means all of the account. */
export interface ListCertificates extends Pick<Query<'readCertificates'>, 'csr_id'> {}
/** Names a certificate. */
export interface DeleteCertificate extends Query<'deleteCertificate'> {}

/** A request to a third party. */
export interface ProxyRequest extends Given<Omit<Schema<'ProxyRequest'>, 'headers'>> {
  /** One member each: a name and its value. */
  readonly headers?: readonly Readonly<Record<string, string>>[] | undefined;
}
/** Where the outcome of a request is reported to, and what goes with it. */
export interface ProxyWebhook extends Given<Omit<Schema<'ProxyWebhook'>, 'metadata'>> {
  /** Members to add to what the webhook says, at most 64 KB; those with the name of one of its own are left out. */
  readonly metadata?: object | undefined;
}

/** What to send, and who is to hear of the outcome. */
export interface ProxyOrder {
  /** What is sent. */
  readonly request: ProxyRequest;
  /** Whether the outcome is waited for. */
  readonly synchronous?: boolean | undefined;
  /** Who is told of the outcome; needed where it is not waited for. */
  readonly webhook?: ProxyWebhook | undefined;
}

/** The outcome is told to a webhook. */
export interface Reported {
  /** Not waited for. */
  readonly synchronous?: false | undefined;
  /** Who is told of the outcome. */
  readonly webhook: ProxyWebhook;
}

/** A request that is filled from a stored object. */
export interface ProxyPost extends Query<'proxyPost'>, ProxyOrder, Unlocking {}
/** A request whose reply is stored. */
export interface ProxyFetch
  extends Omit<Query<'proxyGet'>, 'tokenization_algorithm'>,
    ProxyOrder,
    Unlocking {}
/** Which card to have a network token made for, and by whom. */
export interface RequestNetworkToken extends Query<'requestNetworkToken'>, Unlocking {
  /** Who is told of the outcome. */
  readonly webhook: ProxyWebhook;
}

/** A request was accepted: `id` is its `X-Vault-Request-Id`, and the `webhook-id` of what is told of it. */
export interface ProxyAccepted extends Schema<'ProxyAccepted'> {}
/** What a third party answered. */
export interface ProxyReply extends Schema<'ProxyReply'> {}

/** What a third party answered to data that was sent out. */
export interface PostWebhook extends Schema<'PostWebhook'> {}
/** Data fetched from a third party was stored; without `token_info` its last answer was 429 or 5xx. */
export interface GetWebhook extends Schema<'GetWebhook'> {}
/** A network token was made and stored. */
export interface NetworkTokenWebhook extends Schema<'NetworkTokenWebhook'> {}
/** There is no reply to report. With the code `outcome_unknown` the request may have had its effect. */
export interface FailureWebhook extends Omit<Schema<'FailureWebhook'>, 'code'> {
  /** Why; with `outcome_unknown` the request may have had its effect. */
  code: ErrorCode;
}

/** A new key: its name, and its passphrase where you choose one. */
export interface CreateKey extends Given<Schema<'CreateKey'>> {}
/** A key with its passphrase now and the one from now on. */
export interface ChangePassphrase extends Given<Schema<'ChangePassphrase'>> {}
/** Which page of the keys. */
export interface ListKeys extends Query<'listKeys'> {}
/** What to read of the log; nothing means all of it. */
export interface ReadAudit extends Query<'readAudit'> {}
/** Which key to delete, and whether together with what it holds. */
export interface DeleteKey extends Query<'deleteKey'> {}

/** The number to check. */
export interface CheckLuhn extends Query<'checkLuhn'> {}
/** How long the passphrase is to be. */
export interface GeneratePassphrase extends Query<'generatePassphrase'> {}
