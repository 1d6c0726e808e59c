/**
 * The shapes of the API, by the names of their members on the wire. All of them come from `api.d.ts`, which is
 * generated from the service's OpenAPI document.
 */
import type { components, operations } from '../api.d.ts';

type Schemas = components['schemas'];

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
export type StoredObject = Schemas['StoredObject'];
/** A stored item, without its data. */
export type TokenInfo = Schemas['TokenInfo'];
/** What the number of a card tells of it: its first digits, its brand, and what the table of the operator knows. */
export type CardMetadata = Schemas['CardMetadata'];
/** An item in a listing; `data` and `card_metadata` only where it was opened. */
export type TreeItem = Schemas['TreeItem'];
/** Names of keys, each with a list of its items in ascending order of `stored_at`. */
export type Tree = Schemas['Tree'];
/** One use of an item. */
export type LogEntry = Schemas['LogEntry'];
/** One event of the security log. */
export type AuditEntry = Schemas['AuditEntry'];
/** A vault key. */
export type Key = Schemas['Key'];
/** A vault key with its passphrase, which is shown this once. */
export type KeyWithPassphrase = Schemas['KeyWithPassphrase'];
/** Whether the last digit of a number is right, and the brand that it tells. */
export type LuhnResult = Schemas['LuhnResult'];
/** A passphrase, made and not stored. */
export type GeneratedPassphrase = Schemas['GeneratedPassphrase'];
/** Who signed in, and what to. */
export type WhoAmI = Schemas['WhoAmI'];
/** What was done, in a sentence for a person. */
export type Message = Schemas['Message'];
/** What the month has cost so far; amounts are exact decimal texts. */
export type Billing = Schemas['Billing'];
/** What the account has stored, and how many requests it made in a month. */
export type Usage = Schemas['Usage'];
/** Which month. */
export type ReadUsage = Query<'readUsage'>;
/** An account with its new password, which is shown this once. */
export type AccountPassword = Schemas['AccountPassword'];
/** The new password; one is made where it is left out. */
export type ChangePassword = Given<Schemas['ChangePassword']>;
/** A preference; `is_default` where the account has not set it. */
export type Preference = Schemas['Preference'];
/** A preference and its value: any JSON value of at most 4 KB. */
export type SetPreference = Given<Schemas['SetPreference']>;
/** Names a preference. */
export type ReadPreference = Query<'deletePreference'>;
/** Names a preference. */
export type DeletePreference = Query<'deletePreference'>;

/** An item with its data, as opening a whole key yields it. */
export type DecryptedItem = TreeItem & { readonly data: StoredObject };

/** What to store, under which key, and what its token looks like. */
export type StoreItem = Omit<Query<'storeItem'>, 'card_number' | 'account_number' | 'n'> &
  Unlocking &
  Carrying;
/** What to change of which item. */
export type UpdateItem = Query<'updateItem'> & Unlocking & Carrying;
/** Names one item. */
export type DeleteItem = Query<'deleteItem'>;
/** Which item's log to read. */
export type ReadLog = Query<'readLog'>;

/** Names one item, and how to show it. */
export type DecryptItem = Pick<
  Query<'readItems'>,
  'reference' | 'mask_fields' | 'rules' | 'return_card_metadata'
> &
  Owned & {
    /** The token that storing returned. */
    readonly token: string;
  } & Unlocking;

/** What to list; nothing means every item of the account. */
export type ListItems = Omit<
  Query<'readItems'>,
  'decrypt_all' | 'mask_fields' | 'rules' | 'return_card_metadata'
>;

/** Which items of a key to open, and how to show them. */
export type DecryptAll = Omit<Query<'readItems'>, 'user' | 'token' | 'decrypt_all' | 'next_token'> &
  Owned &
  Unlocking;

/** An endpoint as its owner sees it; its secret is kept nowhere. */
export type Endpoint = Schemas['Endpoint'];
/** A capture endpoint with its secret, which is shown this once. */
export type NewCaptureEndpoint = Schemas['CaptureEndpoint'];
/** A retrieval endpoint with its secret, which is shown this once. */
export type NewRetrieveEndpoint = Schemas['RetrieveEndpoint'];
/** What a third party passes on to the endpoint's owner after storing something. */
export type Captured = Schemas['Captured'];

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
export type CreateCaptureEndpoint = Query<'createCaptureEndpoint'> & Unlocking;
/** What an endpoint reaches, for how long, and how it shows data. */
export type CreateRetrieveEndpoint = Query<'createRetrieveEndpoint'> & Unlocking;
/** Which endpoints to list; nothing means all of the account. */
export type ListEndpoints = Query<'listCaptureEndpoints'> & Query<'listRetrieveEndpoints'>;
/** Names an endpoint. */
export type DeleteEndpoint = PathOf<'deleteCaptureEndpoint'> & PathOf<'deleteRetrieveEndpoint'>;

/** What to store through a capture endpoint. */
export type CaptureItem = Omit<Query<'capture'>, 'card_number' | 'account_number' | 'n'> & Carrying;

/** Names one item that a retrieval endpoint reaches. */
export type RetrieveItem = Pick<Query<'retrieve'>, 'reference'> & {
  /** The token that storing returned. */
  readonly token: string;
};

/** What to list of what a retrieval endpoint reaches; nothing means all of it. */
export type RetrieveTree = Omit<Query<'retrieve'>, 'token' | 'decrypt_all' | 'form_type'>;

/** Which of the items that a retrieval endpoint reaches to open. */
export type RetrieveAll = Omit<RetrieveTree, 'next_token'>;

/** A hosted form with its settings. */
export type Form = Schemas['Form'];
/** How a form looks and what it does; everything may be left out. */
export type FormSettings = Given<Schemas['FormSettings']>;
/** A field of a form beside those of its type. */
export type FormAdditionalField = Schemas['FormAdditionalField'];

/** The kind and the id of a form, and its settings. */
export type CreateForm = Query<'createForm'> & FormSettings;
/** Names a form. */
export type ReadForm = PathOf<'deleteForm'>;
/** Names a form. */
export type DeleteForm = PathOf<'deleteForm'>;

/** A named list of operations. */
export type Rule = Schemas['Rule'];
/** One change of the data, by name. */
export type Operation = Schemas['Operation'];
/** All operations that a rule can be made of. */
export type OperationNames = Schemas['OperationNames'];

/** A new rule: its id, and what it does. */
export type CreateRule = Query<'createRule'> & {
  /** Applied one after another; 1 to 64. */
  readonly operations: readonly Given<Operation>[];
};
/** Names a rule. */
export type ReadRule = Query<'deleteRule'>;
/** Names a rule. */
export type DeleteRule = Query<'deleteRule'>;

/** A request for a client certificate; its private key stays in the vault. */
export type Csr = Schemas['Csr'];
/** A client certificate; its id is the `client_cert_id` of proxy requests. */
export type Certificate = Schemas['Certificate'];
/** Who a certificate is for. Only `cn` is needed. */
export type CreateCsr = Given<Schemas['CreateCsr']>;
/** Names a request for a certificate. */
export type DeleteCsr = Query<'deleteCsr'>;
/** A certificate that was issued from a request. */
export type CreateCertificate = Query<'createCertificate'> & {
  /** One certificate in PEM; those that issued it may follow, each after the one that it issued. */
  readonly pem: string;
};
/** Which certificates to list; nothing means all of the account. */
export type ListCertificates = Pick<Query<'readCertificates'>, 'csr_id'>;
/** Names a certificate. */
export type DeleteCertificate = Query<'deleteCertificate'>;

/** A request to a third party. */
export type ProxyRequest = Given<Omit<Schemas['ProxyRequest'], 'headers'>> & {
  /** One member each: a name and its value. */
  readonly headers?: readonly Readonly<Record<string, string>>[] | undefined;
};
/** Where the outcome of a request is reported to, and what goes with it. */
export type ProxyWebhook = Given<Omit<Schemas['ProxyWebhook'], 'metadata'>> & {
  /** Members to add to what the webhook says, at most 64 KB; those with the name of one of its own are left out. */
  readonly metadata?: object | undefined;
};

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
export type ProxyPost = Query<'proxyPost'> & ProxyOrder & Unlocking;
/** A request whose reply is stored. */
export type ProxyFetch = Omit<Query<'proxyGet'>, 'tokenization_algorithm'> & ProxyOrder & Unlocking;
/** Which card to have a network token made for, and by whom. */
export type RequestNetworkToken = Query<'requestNetworkToken'> & {
  /** Who is told of the outcome. */
  readonly webhook: ProxyWebhook;
} & Unlocking;

/** A request was accepted: `id` is its `X-Vault-Request-Id`, and the `webhook-id` of what is told of it. */
export type ProxyAccepted = Schemas['ProxyAccepted'];
/** What a third party answered. */
export type ProxyReply = Schemas['ProxyReply'];

/** What a third party answered to data that was sent out. */
export type PostWebhook = Schemas['PostWebhook'];
/** Data fetched from a third party was stored; without `token_info` its last answer was 429 or 5xx. */
export type GetWebhook = Schemas['GetWebhook'];
/** A network token was made and stored. */
export type NetworkTokenWebhook = Schemas['NetworkTokenWebhook'];
/** There is no reply to report. With the code `outcome_unknown` the request may have had its effect. */
export type FailureWebhook = Omit<Schemas['FailureWebhook'], 'code'> & {
  /** Why; with `outcome_unknown` the request may have had its effect. */
  code: ErrorCode;
};

/** A new key: its name, and its passphrase where you choose one. */
export type CreateKey = Given<Schemas['CreateKey']>;
/** A key with its passphrase now and the one from now on. */
export type ChangePassphrase = Given<Schemas['ChangePassphrase']>;
/** Which page of the keys. */
export type ListKeys = Query<'listKeys'>;
/** What to read of the log; nothing means all of it. */
export type ReadAudit = Query<'readAudit'>;
/** Which key to delete, and whether together with what it holds. */
export type DeleteKey = Query<'deleteKey'>;

/** The number to check. */
export type CheckLuhn = Query<'checkLuhn'>;
/** How long the passphrase is to be. */
export type GeneratePassphrase = Query<'generatePassphrase'>;
