/**
 * Every refusal that a caller can see: one table, constant texts. A text never holds anything that the
 * caller sent; `field` names a place (`query.user`, `body[2].name`), never a value.
 */
interface ErrorEntry {
  readonly status: number;
  readonly text: string;
  /** Seconds for `Retry-After`, where trying again later makes sense. */
  readonly retryAfterSeconds?: number;
}

const defineErrors = <Code extends string>(
  table: Record<Code, ErrorEntry>,
): Readonly<Record<Code, ErrorEntry>> => Object.freeze(table);

export const ERRORS = defineErrors({
  invalid_request: { status: 400, text: 'A part of the request is missing or malformed; `field` names it.' },
  invalid_json: { status: 400, text: 'The body is not valid JSON in UTF-8, or repeats a member name.' },
  json_too_deep: { status: 400, text: 'The JSON body is nested more than 64 levels deep.' },
  duplicate_parameter: { status: 400, text: 'A query parameter was given more than once.' },
  conflicting_parameters: { status: 400, text: 'The same value was given in two places and they differ.' },
  number_missing: {
    status: 400,
    text: 'No number to make a token from: send card_number, account_number, n or number in the body, or number in the query. Rules of an endpoint run first.',
  },
  test_card: { status: 400, text: 'This is a published test card number; it can be stored only in staging.' },
  reference_required: {
    status: 400,
    text: 'This item was stored with a reference, which must be given as well.',
  },
  cursor_invalid: { status: 400, text: 'next_token is not valid for this account and query.' },
  rule_limit: {
    status: 400,
    text: 'The rules need more time or memory than one item may take; make them or the data smaller.',
  },
  certificate_invalid: {
    status: 400,
    text: 'Send one certificate in PEM and nothing else; those that issued it may follow, each after the one that it issued.',
  },
  certificate_private_key: {
    status: 400,
    text: 'The body holds a private key, which was not stored; send the certificate alone, and replace that key.',
  },
  certificate_mismatch: {
    status: 400,
    text: 'The certificate was not issued for the key of this certificate request.',
  },
  template_limit: {
    status: 400,
    text: 'Filling the request needs more time or memory than one request may take; make the template or the data smaller.',
  },
  destination_refused: {
    status: 400,
    text: 'The destination is not an https URL with a public address that this account may reach; nothing was sent.',
  },
  idempotency_passphrase_required: {
    status: 400,
    text: 'With an Idempotency-Key, send the passphrase of the new key yourself: a generated one is never stored.',
  },
  unauthenticated: { status: 401, text: 'Valid account credentials are required.' },
  passphrase_wrong: { status: 403, text: 'The passphrase does not open this key.' },
  not_allowed: { status: 403, text: 'This account is not allowed to do this.' },
  endpoint_refused: {
    status: 403,
    text: 'There is no such endpoint, or the secret sent in X-Vault-Capture-Secret or X-Vault-Retrieve-Secret is not its own.',
  },
  endpoint_out_of_scope: { status: 403, text: 'This endpoint does not reach the item that was asked for.' },
  not_found: { status: 404, text: 'There is nothing at this path.' },
  key_not_found: { status: 404, text: 'There is no such key.' },
  token_not_found: { status: 404, text: 'There is no such token, or the reference does not belong to it.' },
  rule_not_found: {
    status: 404,
    text: 'There is no such rule; rules are looked up at each use, and without it nothing is stored or shown.',
  },
  csr_not_found: { status: 404, text: 'There is no such certificate signing request.' },
  certificate_not_found: { status: 404, text: 'There is no such certificate.' },
  endpoint_not_found: { status: 404, text: 'There is no such endpoint.' },
  preference_not_found: { status: 404, text: 'There is no such preference, and no default for it.' },
  form_not_found: { status: 404, text: 'There is no such form.' },
  method_not_allowed: { status: 405, text: 'This path does not take this method; see the Allow header.' },
  key_exists: { status: 409, text: 'There is already a key with this identifier.' },
  endpoint_exists: { status: 409, text: 'This unique id is already in use.' },
  rule_exists: { status: 409, text: 'There is already a rule with this id.' },
  form_exists: { status: 409, text: 'This form id is already in use.' },
  certificates_full: {
    status: 409,
    text: 'The account has as many certificates or requests for them as it may have; delete some first.',
  },
  forms_full: { status: 409, text: 'The account has as many forms as it may have; delete some first.' },
  rules_full: { status: 409, text: 'The account has as many rules as it may have; delete some first.' },
  key_not_empty: { status: 409, text: 'The key still holds data; delete the data first or pass safe=false.' },
  key_changed: { status: 409, text: 'The key was changed by another request at the same time; try again.' },
  password_changed: {
    status: 409,
    text: 'The password was changed by another request at the same time; this one changed nothing.',
  },
  preferences_full: {
    status: 409,
    text: 'The account has as many preferences of its own, or as much text in them, as it may have; delete some first.',
  },
  idempotency_conflict: {
    status: 409,
    text: 'This Idempotency-Key belongs to a different request, or to one that is still in progress.',
  },
  endpoint_gone: { status: 410, text: 'This endpoint has expired or was stopped.' },
  body_too_large: { status: 413, text: 'The body is larger than this route accepts.' },
  too_many_failures: {
    status: 429,
    text: 'Too many failed attempts; wait before trying again.',
    retryAfterSeconds: 900,
  },
  rate_limited: {
    status: 429,
    text: 'Too many requests in a minute; wait for as long as Retry-After says.',
    retryAfterSeconds: 60,
  },
  jobs_full: {
    status: 429,
    text: 'The account has as many requests waiting as it may have; nothing was sent. Wait until some are done.',
    retryAfterSeconds: 60,
  },
  too_many_changes: {
    status: 429,
    text: 'The password was changed, or was to be changed, five times within a minute; wait before trying again.',
    retryAfterSeconds: 60,
  },
  target_unreachable: {
    status: 502,
    text: 'The third party could not be reached, or showed no valid certificate; it was not sent the request.',
  },
  reply_too_large: { status: 502, text: "The third party's reply is larger than the service reads." },
  outcome_unknown: {
    status: 502,
    text: 'The request was sent, or may have been, and its reply is lost. The third party may or may not have acted on it.',
  },
  reply_not_storable: {
    status: 502,
    text: "The third party's reply holds no number that can be stored, so nothing was stored.",
  },
  target_timeout: {
    status: 504,
    text: 'The third party did not answer in time; it may have acted all the same.',
  },
  overloaded: { status: 503, text: 'The service is busy; try again shortly.', retryAfterSeconds: 1 },
  store_unavailable: {
    status: 503,
    text: 'The data store cannot be reached; try again shortly.',
    retryAfterSeconds: 2,
  },
  integrity_failed: { status: 500, text: 'A stored record failed its integrity check and was not used.' },
  internal: { status: 500, text: 'Something went wrong on our side.' },
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
    place: Partial<Pick<VaultError, 'field' | 'retryAfterSeconds' | 'sentAs'>> = {},
  ) {
    super(ERRORS[code].text);
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
