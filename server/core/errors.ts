/**
 * Every refusal that a caller can see: one table, constant texts. A text never holds anything that the
 * caller sent; `field` names a place (`query.user`, `body[2].name`), never a value.
 */
interface ErrorEntry {
  readonly status: number;
  readonly text: string;
  /** What a caller should do about it, in a sentence or two: correct something, try again, or ask somebody. */
  readonly advice: string;
  /** Seconds for `Retry-After`, where trying again later makes sense. */
  readonly retryAfterSeconds?: number;
}

const defineErrors = <Code extends string>(
  table: Record<Code, ErrorEntry>,
): Readonly<Record<Code, ErrorEntry>> => Object.freeze(table);

export const ERRORS = defineErrors({
  invalid_request: {
    status: 400,
    text: 'A part of the request is missing or malformed; `field` names it.',
    advice:
      'Correct what `field` names; the same request will be refused again. Where that is `query.passphrase`, the passphrase is missing: send it in the header `X-Vault-Passphrase`.',
  },
  invalid_json: {
    status: 400,
    text: 'The body is not valid JSON in UTF-8, or repeats a member name.',
    advice: 'Send a JSON text in UTF-8 in which no object has the same name twice.',
  },
  json_too_deep: {
    status: 400,
    text: 'The JSON body is nested more than 64 levels deep.',
    advice: 'Send it flatter, or put the inner part into a text.',
  },
  duplicate_parameter: {
    status: 400,
    text: 'A query parameter was given more than once.',
    advice: 'Send each parameter once; a list is one parameter, separated by commas.',
  },
  conflicting_parameters: {
    status: 400,
    text: 'The same value was given in two places and they differ.',
    advice: 'Send the value in one of the two places; the passphrase rather in the header.',
  },
  number_missing: {
    status: 400,
    text: 'No number to make a token from: send card_number, account_number, n or number in the body, or number in the query. Rules of an endpoint run first.',
    advice: 'Send the number. To store what has none, give any text with a digit as `number`.',
  },
  test_card: {
    status: 400,
    text: 'This is a published test card number; it can be stored only in staging.',
    advice: 'Use a staging vault for test cards.',
  },
  reference_required: {
    status: 400,
    text: 'This item was stored with a reference, which must be given as well.',
    advice: 'Send the reference that the item was stored with; a listing shows it.',
  },
  cursor_invalid: {
    status: 400,
    text: 'next_token is not valid for this account and query.',
    advice: 'Begin again without next_token, or leave all other parameters as they were on the first page.',
  },
  rule_limit: {
    status: 400,
    text: 'The rules need more time or memory than one item may take; make them or the data smaller.',
    advice: 'Make the rules simpler or send less in one item; trying again does not help.',
  },
  certificate_invalid: {
    status: 400,
    text: 'Send one certificate in PEM and nothing else; those that issued it may follow, each after the one that it issued.',
    advice: 'Send the certificate that was issued, as text that begins with `-----BEGIN CERTIFICATE-----`.',
  },
  certificate_private_key: {
    status: 400,
    text: 'The body holds a private key, which was not stored; send the certificate alone, and replace that key.',
    advice: 'Send the certificate alone, and treat the key that was sent as known to others.',
  },
  certificate_mismatch: {
    status: 400,
    text: 'The certificate was not issued for the key of this certificate request.',
    advice: 'Send the certificate that was issued for this request, or give the id of the other one.',
  },
  template_limit: {
    status: 400,
    text: 'Filling the request needs more time or memory than one request may take; make the template or the data smaller.',
    advice: 'Make the template or the data smaller; trying again does not help.',
  },
  destination_refused: {
    status: 400,
    text: 'The destination is not an https URL with a public address that this account may reach; nothing was sent.',
    advice: 'Correct the URL; other addresses are for the operator to allow (`VAULT_PROXY_ALLOW`).',
  },
  idempotency_passphrase_required: {
    status: 400,
    text: 'With an Idempotency-Key, send the passphrase of the new key yourself: a generated one is never stored.',
    advice: 'Send `passphrase` in the body, or leave the Idempotency-Key out.',
  },
  unauthenticated: {
    status: 401,
    text: 'Name or password of the account are missing or wrong.',
    advice: 'Check name and password of the account, and that they arrive as Basic Auth.',
  },
  passphrase_wrong: {
    status: 403,
    text: 'The passphrase does not open this key.',
    advice:
      'Check the passphrase and the key; capitals and spaces count, and after a change the old one opens nothing. After several wrong ones in a row the key is shut for a while.',
  },
  not_allowed: {
    status: 403,
    text: 'This account is not allowed to do this.',
    advice: 'Ask the operator. From a web page: send no account credentials from a browser, use an endpoint.',
  },
  endpoint_refused: {
    status: 403,
    text: 'There is no such endpoint, or the secret sent in X-Vault-Capture-Secret or X-Vault-Retrieve-Secret is not its own.',
    advice: 'Check the id, the secret, and that it is in the header of its kind.',
  },
  endpoint_out_of_scope: {
    status: 403,
    text: 'This endpoint does not reach the item that was asked for.',
    advice: 'Ask for what the endpoint is locked to, or have its owner make another one.',
  },
  not_found: {
    status: 404,
    text: 'There is nothing at this path. Those of the API begin with /v1.',
    advice: 'Check the path; `/docs` of the server lists all of them.',
  },
  key_not_found: {
    status: 404,
    text: 'There is no such key.',
    advice: 'Check `user`, or create the key.',
  },
  token_not_found: {
    status: 404,
    text: 'There is no such token, or the reference does not belong to it.',
    advice:
      'Check token, reference and key. A deletion that is repeated meets it, too: the first one was done.',
  },
  rule_not_found: {
    status: 404,
    text: 'There is no such rule; rules are looked up at each use, and without it nothing is stored or shown.',
    advice: 'Make the rule again under this id, or no longer name it.',
  },
  csr_not_found: {
    status: 404,
    text: 'There is no such certificate signing request.',
    advice: 'Check the id against the list of requests.',
  },
  certificate_not_found: {
    status: 404,
    text: 'There is no such certificate.',
    advice: "Check the id against the list of certificates; the operator's own is loaded by the operator.",
  },
  endpoint_not_found: {
    status: 404,
    text: 'There is no such endpoint.',
    advice: 'Check the id. A deletion that is repeated meets it, too: the first one was done.',
  },
  preference_not_found: {
    status: 404,
    text: 'There is no such preference, and no default for it.',
    advice: 'Check the name, or set the preference.',
  },
  form_not_found: {
    status: 404,
    text: 'There is no such form.',
    advice: 'Check the id against the list of forms.',
  },
  method_not_allowed: {
    status: 405,
    text: 'This path does not take this method; see the Allow header.',
    advice: 'Use one of the methods in the Allow header.',
  },
  key_exists: {
    status: 409,
    text: 'There is already a key with this identifier.',
    advice: 'Take another identifier. After a lost reply: yours may be the one that is there.',
  },
  endpoint_exists: {
    status: 409,
    text: 'This unique id is already in use.',
    advice: 'Take another id, or leave `unique_id` out and one is made. Ids are shared by all accounts.',
  },
  rule_exists: {
    status: 409,
    text: 'There is already a rule with this id.',
    advice: 'Take another id, or delete the rule first.',
  },
  form_exists: {
    status: 409,
    text: 'This form id is already in use.',
    advice: 'Take another id. Ids are shared by all accounts; `pcd` and `ach` are taken.',
  },
  certificates_full: {
    status: 409,
    text: 'The account has as many certificates or requests for them as it may have; delete some first.',
    advice: 'Delete certificates and requests that are not needed any more.',
  },
  forms_full: {
    status: 409,
    text: 'The account has as many forms as it may have; delete some first.',
    advice: 'Delete forms that are not needed any more.',
  },
  rules_full: {
    status: 409,
    text: 'The account has as many rules as it may have; delete some first.',
    advice: 'Delete rules that are not needed any more.',
  },
  key_not_empty: {
    status: 409,
    text: 'The key still holds data; delete the data first or pass safe=false.',
    advice: 'Delete its items first, or pass safe=false to lose them all for good.',
  },
  key_changed: {
    status: 409,
    text: 'The key was changed by another request at the same time; try again.',
    advice: 'Send the request again, with the new passphrase if it was changed.',
  },
  password_changed: {
    status: 409,
    text: 'The password was changed by another request at the same time; this one changed nothing.',
    advice: 'Sign in with the newer password, or ask who changed it.',
  },
  preferences_full: {
    status: 409,
    text: 'The account has as many preferences of its own, or as much text in them, as it may have; delete some first.',
    advice: 'Delete preferences of your own that are not needed any more.',
  },
  idempotency_conflict: {
    status: 409,
    text: 'This Idempotency-Key belongs to a different request, or to one that is still in progress.',
    advice:
      'With Retry-After the same request is still under way: wait and send it again. Else take another key: each is for one request.',
  },
  endpoint_gone: {
    status: 410,
    text: 'This endpoint has expired or was stopped.',
    advice: 'Make a new endpoint, or get one from its owner: this one cannot be started again.',
  },
  body_too_large: {
    status: 413,
    text: 'The body is larger than this route accepts.',
    advice: 'Send less: items take 262,144 bytes, most other bodies 1 MB.',
  },
  too_many_failures: {
    status: 429,
    text: 'Too many failed attempts; wait before trying again.',
    advice: 'Wait for as long as Retry-After says, and find out who sends the wrong password or passphrase.',
    retryAfterSeconds: 900,
  },
  rate_limited: {
    status: 429,
    text: 'Too many requests in a minute; wait for as long as Retry-After says.',
    advice: "Wait for as long as Retry-After says; the limits are the operator's.",
    retryAfterSeconds: 60,
  },
  jobs_full: {
    status: 429,
    text: 'The account has as many requests waiting as it may have; nothing was sent. Wait until some are done.',
    advice: 'Wait for as long as Retry-After says, and send more slowly.',
    retryAfterSeconds: 60,
  },
  too_many_changes: {
    status: 429,
    text: 'The password was changed, or was to be changed, five times within a minute; wait before trying again.',
    advice: 'Wait for as long as Retry-After says.',
    retryAfterSeconds: 60,
  },
  target_unreachable: {
    status: 502,
    text: 'The third party could not be reached, or showed no valid certificate; it was not sent the request.',
    advice: 'Check host, port and certificate of the third party; then send it again.',
  },
  reply_too_large: {
    status: 502,
    text: "The third party's reply is larger than the service reads.",
    advice: 'Ask the third party for less. It has received the request and may have acted.',
  },
  outcome_unknown: {
    status: 502,
    text: 'The request was sent, or may have been, and its reply is lost. The third party may or may not have acted on it.',
    advice: 'Ask the third party before you send it again: it may have acted.',
  },
  reply_not_storable: {
    status: 502,
    text: "The third party's reply holds no number that can be stored, so nothing was stored.",
    advice:
      'Look at what the third party answers, or use `smart_parse`. It has received the request and may have acted.',
  },
  target_timeout: {
    status: 504,
    text: 'The third party did not answer in time; it may have acted all the same.',
    advice:
      'Ask the third party before you send it again; without waiting, a webhook is told of slow replies.',
  },
  overloaded: {
    status: 503,
    text: 'The service is busy; try again shortly.',
    advice:
      'Send it again after Retry-After, with growing pauses, and with an Idempotency-Key where it writes.',
    retryAfterSeconds: 1,
  },
  store_unavailable: {
    status: 503,
    text: 'The data store cannot be reached; try again shortly.',
    advice:
      'Send it again after Retry-After, with an Idempotency-Key where it writes; a write may have been done.',
    retryAfterSeconds: 2,
  },
  integrity_failed: {
    status: 500,
    text: 'A stored record failed its integrity check and was not used.',
    advice: 'Give the request id to the operator, who runs `vault verify`; trying again does not help.',
  },
  internal: {
    status: 500,
    text: 'Something went wrong on our side.',
    advice: 'Give the request id to the operator. A write may or may not have been done.',
  },
});

/** The stable codes of error bodies. */
export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (value: string): value is ErrorCode => Object.hasOwn(ERRORS, value);

/** The one error that services throw on purpose; its message is the table's text and nothing else. */
export class VaultError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The id under which a third party was sent a request, where one was. */
  readonly sentAs: string | undefined;

  constructor(
    code: ErrorCode,
    place: Partial<Pick<VaultError, 'field' | 'retryAfterSeconds' | 'sentAs' | 'cause'>> = {},
  ) {
    super(ERRORS[code].text, place.cause === undefined ? undefined : { cause: place.cause });
    this.name = 'VaultError';
    this.code = code;
    this.field = place.field;
    this.sentAs = place.sentAs;
    this.retryAfterSeconds = place.retryAfterSeconds ?? ERRORS[code].retryAfterSeconds;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Why a vault cannot be opened, in one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
