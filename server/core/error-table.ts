/** One error code. Its texts are constants that never contain data of the caller. */
interface ErrorEntry {
  readonly status: number;
  /** The problem, for the reply's `error`. */
  readonly text: string;
  /** The remedy for the caller, for the reference of errors. */
  readonly advice: string;
  /** The default of `Retry-After` in seconds, for errors that pass with time. */
  readonly retryAfterSeconds?: number;
}

/** Keeps the codes as a type, and freezes the table. */
function defineErrors<Code extends string>(
  table: Record<Code, ErrorEntry>,
): Readonly<Record<Code, ErrorEntry>> {
  return Object.freeze(table);
}

/** Every error code that a caller can receive. Codes are part of the API: none is ever renamed or removed. */
export const ERRORS = defineErrors({
  // Invalid requests: a retry without a change fails again.
  invalid_request: {
    status: 400,
    text: 'A part of the request is missing or malformed; `field` names it.',
    advice:
      'Correct the part that `field` names. For `query.passphrase`, send the passphrase in the header `X-Vault-Passphrase`. The same request will fail again.',
  },
  path_invalid: {
    status: 400,
    text: 'The path contains a backslash, a dot segment or an encoded slash; or, of a relayed request, an encoded percent sign or control character.',
    advice:
      'Send the path as it is documented, without `\\`, `.` and `..` as segments, `%2F` and `%5C`. An id that contains a slash exists nowhere. A relayed path has no `%25`, `%00` to `%1F` and `%7F` either, which third parties could read in two ways.',
  },
  unknown_parameter: {
    status: 400,
    text: 'The request has a parameter or member that this route does not know; `field` names it.',
    advice:
      'Correct the name, or remove it. The message names the documented one that comes nearest. An operator with old clients can set `VAULT_UNKNOWN_PARAMETERS=ignore`.',
  },
  passkey_refused: {
    status: 400,
    text: 'The answer of the passkey does not fit: it is for another challenge or page, came too late or a second time, or its user was not verified.',
    advice:
      'Begin again: ask for new options, and answer them at the console within five minutes, on a device that verifies its user with a PIN, a fingerprint or the like.',
  },
  invalid_json: {
    status: 400,
    text: 'The body is not valid JSON in UTF-8, or an object in it has a duplicate member name.',
    advice: 'Send valid JSON in UTF-8, in which no object has the same member name twice.',
  },
  content_encoding_unsupported: {
    status: 400,
    text: 'The body has a Content-Encoding; bodies are only taken as they are.',
    advice: 'Send the body uncompressed, without the header Content-Encoding.',
  },
  connection_closed: {
    status: 400,
    text: 'The connection was closed before the request had any effect.',
    advice:
      'Send the next request on a connection when the one before is answered (no pipelining), and repeat this one. The code is in the log alone.',
  },
  json_too_deep: {
    status: 400,
    text: 'The JSON body is nested more than 64 levels deep.',
    advice: 'Reduce the nesting, or send the inner part as a string.',
  },
  duplicate_parameter: {
    status: 400,
    text: 'A query parameter was sent more than once.',
    advice: 'Send each parameter once. A list is one parameter with comma-separated values.',
  },
  metadata_sensitive: {
    status: 400,
    text: 'A name or a text of the metadata contains a card number; metadata can be read without the passphrase.',
    advice:
      'Put the number into the stored object, and something that says nothing by itself into the metadata.',
  },
  conflicting_parameters: {
    status: 400,
    text: 'The same parameter was sent in two places, or under two names, with different values.',
    advice: 'Send the value once, such as `key` without `user`; for a passphrase, prefer the header.',
  },
  number_missing: {
    status: 400,
    text: 'The request contains no number to derive a token from: `card_number`, `account_number`, `n` and `number` are looked for.',
    advice:
      'Send a value with at least one digit as `card_number`, `account_number`, `n` or `number`, in the body, or as the parameter `number`. With `smart_parse` the body needs a card number under a name that says so, or a valid one in its text. Rules of a capture endpoint run first and may have removed it. For data without a number, choose any identifier with a digit.',
  },
  number_invalid: {
    status: 400,
    text: 'The number is not the one that the token of the item stands for. Nothing was stored.',
    advice:
      'Leave the number out: an endpoint with `token` adds to one item. Tokens of `uuid`, and those of another vault, are not made of a number, so no number fits them. Wrong numbers count like wrong passphrases of the key.',
  },
  charset_unsupported: {
    status: 400,
    text: 'The charset of the body is none of UTF-8, ISO-8859-1, Windows-1252 and, except at inbounds, UTF-16.',
    advice: 'Send the body in UTF-8, and name another charset in its Content-Type or XML declaration.',
  },
  track_data_refused: {
    status: 400,
    text: 'The body contains data of a magnetic stripe, which is never stored. Nothing was stored.',
    advice:
      'Send number, expiry and holder alone. The vault keeps no full track, not even for a time (PCI DSS 3.3.1.1).',
  },
  content_type_unsupported: {
    status: 400,
    text: 'The body is neither JSON nor a form nor XML. Nothing was stored, and nothing was forwarded.',
    advice:
      'Send JSON, `application/x-www-form-urlencoded` or XML to an inbound, and say so in the Content-Type. It takes no `multipart/form-data`.',
  },
  card_not_extracted: {
    status: 400,
    text: 'A card number is in a place that the inbound does not extract cards from. Nothing was stored, and nothing was forwarded.',
    advice:
      'Name the place in `extract` of the inbound, or in `allow` if the digits are no card number there. With `strict` as `mask` the digits are replaced, and the request goes on.',
  },
  code_not_extracted: {
    status: 400,
    text: 'A verification code is in a place that the inbound does not extract codes from. Nothing was stored, and nothing was forwarded.',
    advice:
      'Name the place as `code` in `extract` of the inbound, or in `allow` if it is no code. With `strict` as `mask` the digits are replaced, and the request goes on.',
  },
  reference_sensitive: {
    status: 400,
    text: 'The place in the body that gives the reference holds a card number, which no reference may be. Nothing was stored.',
    advice: 'Name a member with an order or customer number, or correct what the sender puts there.',
  },
  sealing_required: {
    status: 400,
    text: 'This endpoint only takes sealed bodies.',
    advice:
      'Seal the body to the key of `GET /v1/capture/{unique_id}/sealing-key`: hosted forms, elements and the SDK (`seal`) do it. Browsers can only under https. Treat a number that was sent openly as seen by whatever is between sender and vault.',
  },
  test_card: {
    status: 400,
    text: 'This is a published test card number; only a staging server stores it.',
    advice: 'Use a staging server for test cards.',
  },
  reference_required: {
    status: 400,
    text: 'This item was stored with a reference, and the request must contain it.',
    advice:
      'Send the reference that the item was stored with; listings show it. In a placeholder it is the third part: `{{vault:TOKEN:FIELD:REFERENCE}}`.',
  },
  cursor_invalid: {
    status: 400,
    text: 'next_token is not valid for this account and query.',
    advice: 'Start again without `next_token`, or send all other parameters unchanged from the first page.',
  },
  rule_limit: {
    status: 400,
    text: 'The rules exceeded the time or memory limit of one item.',
    advice: 'Simplify the rules or reduce the data. A retry will fail again.',
  },
  certificate_invalid: {
    status: 400,
    text: 'The body is not one certificate in PEM, optionally followed by its issuers in order.',
    advice:
      'Send text that starts with `-----BEGIN CERTIFICATE-----`: the certificate first, then each issuer after the certificate that it issued.',
  },
  certificate_private_key: {
    status: 400,
    text: 'The body contains a private key. Nothing was stored.',
    advice: 'Send the certificate only. Replace the private key, since it left your system.',
  },
  certificate_mismatch: {
    status: 400,
    text: 'The certificate was not issued for the key of this certificate signing request.',
    advice: 'Send the certificate that was issued for this request, or the id of the matching request.',
  },
  template_missing: {
    status: 400,
    text: 'The template has a name that neither the item nor `extra_data` has. Nothing was sent.',
    advice:
      'Correct the name in the template, or add it to `request.extra_data`. For optional members use a section, such as `{{#cvv}}…{{/cvv}}`, or send `allow_missing=true`, which fills in an empty text.',
  },
  placeholder_unknown: {
    status: 400,
    text: 'A placeholder names an item or a field that does not exist. Nothing was sent.',
    advice:
      'Check the token, the field and the reference in `{{vault:TOKEN:FIELD:REFERENCE}}`; `field` of the error says where the placeholder stands.',
  },
  template_limit: {
    status: 400,
    text: 'Filling the template exceeded the time or memory limit of one request.',
    advice: 'Simplify the template or reduce the data. A retry will fail again.',
  },
  destination_refused: {
    status: 400,
    text: 'The destination is not an https URL with a public address that this account may call. Nothing was sent.',
    advice: 'Correct the URL. The operator can allow other addresses with `VAULT_PROXY_ALLOW`.',
  },
  idempotency_passphrase_required: {
    status: 400,
    text: 'A request with an Idempotency-Key must contain the passphrase of the new key, because a generated passphrase is never stored.',
    advice: 'Send `passphrase` in the body, or omit the Idempotency-Key.',
  },
  // Authentication and authorisation.
  unauthenticated: {
    status: 401,
    text: 'The name and password of the account, or the credential, are missing or wrong.',
    advice:
      'Check name and password, and that the request sends them as HTTP Basic authentication; or the secret of the credential, sent as `Bearer`, which may have expired or been deleted.',
  },
  passphrase_wrong: {
    status: 403,
    text: 'The passphrase does not match this key.',
    advice:
      'Check the passphrase and the key. Case and spaces matter, and after a change only the new passphrase is valid. Several consecutive failures lock the key for a while.',
  },
  recovery_refused: {
    status: 403,
    text: 'These shares do not open this key.',
    advice:
      'Check that the shares are of this key and of its current recovery (`GET /v1/key/recovery`), that each is there once, complete, and that there are as many as `threshold` says. Several consecutive failures lock recovery for a while.',
  },
  not_allowed: {
    status: 403,
    text: 'This account or credential is not allowed to do this.',
    advice:
      'Where `field` is `scope`, use a credential whose scopes, keys, addresses and hosts include it; the message says what is missing. Otherwise ask the operator for permission. Never send account credentials from a browser; use an endpoint instead.',
  },
  account_suspended: {
    status: 403,
    text: 'The operator has suspended this account.',
    advice:
      'Ask the operator of the vault. Nothing is lost: accepted requests and webhooks wait, and everything goes on when the account is resumed.',
  },
  passkey_cloned: {
    status: 401,
    text: 'The passkey has counted fewer signatures than the vault knows of: it may be a copy.',
    advice:
      'The reply is `unauthenticated`; this code is in the security log alone. If its owner has not restored the device from a backup, somebody has a copy: remove the passkey, and add a new one.',
  },
  cross_site: {
    status: 403,
    text: 'The session of a person only counts for requests of the console itself, and this one may come from another site.',
    advice:
      'Use the console at the address that the operator has set, or an API credential in a program: the cookie of a session is no credential for scripts. The request had no effect.',
  },
  sign_in_again: {
    status: 403,
    text: 'This needs a sign-in within the last five minutes.',
    advice: 'Sign in again, and repeat the request. It had no effect.',
  },
  invitation_gone: {
    status: 403,
    text: 'The invitation was used, has expired, was replaced by a newer one, or never existed.',
    advice: 'Ask whoever has invited you for a new one. An invitation can be used once, within 24 hours.',
  },
  endpoint_refused: {
    status: 403,
    text: 'The endpoint does not exist, or the secret in X-Vault-Capture-Secret, X-Vault-Retrieve-Secret or Authorization is missing or wrong.',
    advice: 'Check the endpoint id, the secret, and that the header matches the kind of endpoint.',
  },
  origin_not_allowed: {
    status: 403,
    text: 'This endpoint is not for pages of this origin.',
    advice: 'Use it from a page of one of its `origins`, or add the origin when you create the endpoint.',
  },
  endpoint_out_of_scope: {
    status: 403,
    text: 'This endpoint does not have access to the requested item.',
    advice: 'Request an item within the scope of the endpoint, or ask its owner for another endpoint.',
  },
  // Missing records. A record of another account counts as missing.
  not_found: {
    status: 404,
    text: 'No route exists at this path. Paths of the API start with /v1.',
    advice: 'Check the path; `/docs` on the server lists all routes.',
  },
  key_not_found: {
    status: 404,
    text: 'The key does not exist.',
    advice: 'Check `key`, or create the key.',
  },
  recovery_not_found: {
    status: 404,
    text: 'The key has no recovery.',
    advice: 'Make one with `POST /v1/key/recovery`, which needs the passphrase.',
  },
  token_not_found: {
    status: 404,
    text: 'The token does not exist, or the reference does not belong to it.',
    advice:
      'Check the token, the reference and the key. A repeated deletion also gets this error after the first one succeeded.',
  },
  rule_not_found: {
    status: 404,
    text: 'A rule does not exist. Nothing was stored or returned.',
    advice:
      'Create a rule with this id, or remove the id from the request, the endpoint or the list that names it. Rules are read each time they are used.',
  },
  csr_not_found: {
    status: 404,
    text: 'The certificate signing request does not exist.',
    advice: 'Check the id; `GET /v1/proxy/csr` lists all requests.',
  },
  certificate_not_found: {
    status: 404,
    text: 'The certificate does not exist.',
    advice:
      'Check the id; `GET /v1/proxy/cert` lists all certificates. Only the operator can load the certificate of compliance.',
  },
  connection_not_found: {
    status: 404,
    text: 'The connection does not exist.',
    advice: 'Check the id; `GET /v1/connection` lists all connections of the account.',
  },
  subscription_not_found: {
    status: 404,
    text: 'The event subscription does not exist.',
    advice:
      'Check the id; `GET /v1/event/subscription` lists all subscriptions. One ends with the credential that made it.',
  },
  endpoint_not_found: {
    status: 404,
    text: 'The endpoint does not exist.',
    advice: 'Check the id. A repeated deletion also gets this error after the first one succeeded.',
  },
  preference_not_found: {
    status: 404,
    text: 'The preference is not set and has no default.',
    advice: 'Check the name, or set the preference.',
  },
  job_not_found: {
    status: 404,
    text: 'The job does not exist, or it ended long ago.',
    advice:
      'Check the id; `GET /v1/proxy/job` lists all jobs that are kept. Synchronous requests are no jobs.',
  },
  credential_not_found: {
    status: 404,
    text: 'The credential does not exist.',
    advice: 'Check the id; `GET /v1/credential` lists all credentials of the account.',
  },
  person_not_found: {
    status: 404,
    text: 'The person does not exist.',
    advice: 'Check the id; `GET /v1/person` lists all people of the account.',
  },
  passkey_not_found: {
    status: 404,
    text: 'The person has no such passkey.',
    advice: 'Check the id; `GET /v1/person/{id}` lists the passkeys of a person.',
  },
  passphrase_not_found: {
    status: 404,
    text: 'The person keeps no passphrase of this key under this passkey.',
    advice: 'Check key and passkey; `GET /v1/person/self/passphrase` lists what the person keeps.',
  },
  account_not_found: {
    status: 404,
    text: 'The account does not exist.',
    advice: 'Check the name; `GET /v1/account` lists all accounts. A repeated deletion also gets this error.',
  },
  form_not_found: {
    status: 404,
    text: 'The form does not exist.',
    advice: "Check the id; a list of the account's forms shows all ids.",
  },
  method_not_allowed: {
    status: 405,
    text: 'This path does not support this method; the Allow header lists the supported ones.',
    advice: 'Use one of the methods in the Allow header.',
  },
  // Conflicts with the current state.
  key_exists: {
    status: 409,
    text: 'A key with this identifier already exists.',
    advice:
      'Choose another identifier. After a lost reply, the existing key may be the one that you created.',
  },
  endpoint_exists: {
    status: 409,
    text: 'This endpoint id is already in use.',
    advice:
      'Choose another id, or leave it out to get a generated one. Ids are unique over all accounts. To give an inbound new settings, send the `secret` that it has.',
  },
  token_exists: {
    status: 409,
    text: 'An item with this number or token is stored already, and is not replaced.',
    advice: 'Send another number, or ask the owner for an endpoint that overwrites.',
  },
  sealing_key_expired: {
    status: 409,
    text: 'The body was sealed to a key that is unknown or no longer accepted. Nothing was stored.',
    advice:
      'Fetch the key again (`GET /v1/capture/{unique_id}/sealing-key`), past caches, and seal the body to it. Hosted forms and the SDK do it.',
  },
  patches_full: {
    status: 409,
    text: 'The item has 32 changes from endpoints that its owner has not merged yet.',
    advice:
      'The owner of the item merges them with any update, such as one with an empty object (`POST /vault/update`); then send the data again.',
  },
  account_exists: {
    status: 409,
    text: 'An account has this name, or a deleted account had it.',
    advice:
      'Choose another name. If the reply to an earlier attempt was lost, `POST /v1/account/{name}/password` makes a password for the account that it created.',
  },
  account_not_empty: {
    status: 409,
    text: 'The account still has vault keys.',
    advice: 'Let the account delete its keys, or suspend it with `POST /v1/account/{name}/suspend`.',
  },
  rule_exists: {
    status: 409,
    text: 'A rule with this id already exists.',
    advice: 'Choose another id, or delete the existing rule first.',
  },
  connection_exists: {
    status: 409,
    text: 'A connection with this id already exists.',
    advice: 'Choose another id, or replace the connection with `PUT /v1/connection/{id}`.',
  },
  form_exists: {
    status: 409,
    text: 'This form id is already in use.',
    advice: 'Choose another id. Ids are unique over all accounts; `pcd` and `ach` are reserved.',
  },
  certificates_full: {
    status: 409,
    text: 'The account has reached its limit of certificates or certificate signing requests.',
    advice: 'Delete certificates or requests that you no longer need.',
  },
  job_started: {
    status: 409,
    text: 'The job was begun already, so it cannot be cancelled.',
    advice: 'Read the job to see how it ends. What was sent cannot be taken back here.',
  },
  job_not_finished: {
    status: 409,
    text: 'The job has not ended, so its report is still to come.',
    advice: 'Wait until the job has ended: its webhook is called repeatedly until then.',
  },
  job_cancelled: {
    status: 409,
    text: 'The job was cancelled: nothing was sent, and there is no report.',
    advice: 'Send a new request.',
  },
  credentials_full: {
    status: 409,
    text: 'The account has reached its limit of credentials.',
    advice: 'Delete credentials that you no longer need, or let them expire with `expires_in`.',
  },
  persons_full: {
    status: 409,
    text: 'The account has reached its limit of people.',
    advice: 'Delete people who no longer need access.',
  },
  passkeys_full: {
    status: 409,
    text: 'The person has reached the limit of passkeys.',
    advice: 'Remove a passkey that is no longer used, and add the new one again.',
  },
  passphrases_full: {
    status: 409,
    text: 'The person has reached the limit of passphrases under passkeys.',
    advice: 'Remove some that are no longer needed with `DELETE /v1/person/self/passphrase`.',
  },
  passkey_exists: {
    status: 409,
    text: 'This passkey is registered already.',
    advice: 'Sign in with it, or choose another device or security key.',
  },
  people_unavailable: {
    status: 409,
    text: 'Nobody can sign in with a passkey, because of the address of the console: the operator sets `VAULT_CONSOLE_URL`, and the start of the server says to what.',
    advice:
      'The operator sets `VAULT_CONSOLE_URL` to the address of the console: HTTPS with a host name, or `http://localhost`, and no `VAULT_FORMS_URL` at that host or below it. The start of the server says what is wrong.',
  },
  person_of_provider: {
    status: 409,
    text: 'The person signs in with OpenID Connect alone, and the provider decides about the role.',
    advice:
      'Change the role, or who may sign in, at the provider or in `VAULT_OIDC_ROLES`. `keys` and `unmasked` can be set here.',
  },
  forms_full: {
    status: 409,
    text: 'The account has reached its limit of forms.',
    advice: 'Delete forms that you no longer need.',
  },
  rules_full: {
    status: 409,
    text: 'The account has reached its limit of rules.',
    advice: 'Delete rules that you no longer need.',
  },
  connections_full: {
    status: 409,
    text: 'The account has reached its limit of connections.',
    advice: 'Delete connections that you no longer need.',
  },
  subscriptions_full: {
    status: 409,
    text: 'The account has reached its limit of event subscriptions.',
    advice: 'Delete subscriptions that you no longer need; one can have many types of events.',
  },
  key_not_empty: {
    status: 409,
    text: 'The key still contains items.',
    advice: 'Delete its items first, or send `safe=false` to delete the key with all its items permanently.',
  },
  key_changed: {
    status: 409,
    text: 'Another request changed the key at the same time.',
    advice: 'Send the request again, with the new passphrase if it was changed.',
  },
  password_changed: {
    status: 409,
    text: 'Another request changed the password at the same time; this request changed nothing.',
    advice: 'Sign in with the new password, or find out who changed it.',
  },
  preferences_full: {
    status: 409,
    text: 'The account has reached its limit of custom preferences, in number or in size.',
    advice: 'Delete custom preferences that you no longer need.',
  },
  idempotency_conflict: {
    status: 409,
    text: 'This Idempotency-Key was used for a different request, or the first request is still in progress.',
    advice:
      'If the reply has Retry-After, wait that long and send the same request again. Otherwise use a new key; each key is for one request.',
  },
  version_mismatch: {
    status: 412,
    text: 'The item has changed: its data has another version than `If-Match` names. Nothing was done.',
    advice: 'Read the item again, repeat your change on what it is now, and send its new ETag.',
  },
  endpoint_used_up: {
    status: 410,
    text: 'This endpoint was used as often as its owner allows.',
    advice: 'Create a new endpoint, or ask its owner for one.',
  },
  endpoint_gone: {
    status: 410,
    text: 'This endpoint has expired or was stopped.',
    advice:
      'Create a new endpoint, or ask its owner for one. An expired or stopped endpoint cannot be reactivated.',
  },
  // Limits.
  body_too_large: {
    status: 413,
    text: 'The body exceeds the size limit of this route.',
    advice:
      'Send less data. Items may have 262,144 bytes, orders of the proxy and forms 1 MB, most other bodies 64 KB.',
  },
  too_many_failures: {
    status: 429,
    text: 'Too many failed attempts. Retry after the time in Retry-After.',
    advice:
      'Wait for the time in Retry-After, and find out which client sends the wrong password or passphrase.',
    retryAfterSeconds: 900,
  },
  rate_limited: {
    status: 429,
    text: 'The limit of requests per minute is reached. Retry after the time in Retry-After.',
    advice: 'Wait for the time in Retry-After. The operator sets the limits.',
    retryAfterSeconds: 60,
  },
  jobs_full: {
    status: 429,
    text: 'The account has reached its limit of asynchronous requests in the queue. Nothing was sent; what was captured is stored.',
    advice: 'Wait for the time in Retry-After, and send requests more slowly.',
    retryAfterSeconds: 60,
  },
  too_many_changes: {
    status: 429,
    text: 'The limit of five password changes per minute is reached, failed attempts included.',
    advice: 'Wait for the time in Retry-After.',
    retryAfterSeconds: 60,
  },
  // Errors of third parties. The text says whether the request was sent.
  target_unreachable: {
    status: 502,
    text: 'The third party could not be reached, or its certificate is not valid. The request was not sent.',
    advice: 'Check the host, the port and the certificate of the third party, then retry.',
  },
  provider_unavailable: {
    status: 502,
    text: 'The provider that people sign in at gives no answer that the vault can use.',
    advice:
      'Try again in a minute. The log of the server has the cause, in a line `oidc_signin_failed` with the request id. Passkeys, passwords and API credentials work meanwhile.',
  },
  reply_too_large: {
    status: 502,
    text: 'The reply of the third party exceeds the size limit.',
    advice: 'Request less data from the third party. It received the request and may have processed it.',
  },
  reply_too_complex: {
    status: 502,
    text: 'The reply of the third party takes too long to be shown.',
    advice:
      'Ask the third party for a smaller or simpler reply. It received the request and may have processed it.',
  },
  outcome_unknown: {
    status: 502,
    text: 'The request was sent, or may have been, and its reply was lost. The third party may have processed it.',
    advice: 'Check with the third party before you retry.',
  },
  reply_not_storable: {
    status: 502,
    text: 'The reply of the third party cannot be read, or contains no number to derive a token from. Nothing was stored.',
    advice:
      'Check the reply of the third party and its charset, or use `smart_parse`. It received the request and may have processed it.',
  },
  redirect_refused: {
    status: 502,
    text: 'The third party has redirected the request to a place outside of its connection, where the sender would repeat the card.',
    advice:
      'Let the third party answer itself, or redirect below the `base_url` of the connection. It received the request, with tokens, and may have processed it.',
  },
  target_timeout: {
    status: 504,
    text: 'The third party did not reply in time. It may have processed the request.',
    advice:
      'Check with the third party before you retry. For slow replies, send the request asynchronously and receive the result by webhook.',
  },
  // The server cannot do it now. Only these statuses are worth a retry without a change.
  overloaded: {
    status: 503,
    text: 'The service is overloaded. Retry after the time in Retry-After.',
    advice: 'Retry with increasing delays, and with an Idempotency-Key if the request writes.',
    retryAfterSeconds: 1,
  },
  store_unavailable: {
    status: 503,
    text: 'The data store is unavailable. Retry after the time in Retry-After.',
    advice:
      'Retry with increasing delays, and with an Idempotency-Key if the request writes: a write may have been completed.',
    retryAfterSeconds: 2,
  },
  // Errors that the operator must solve.
  record_rolled_back: {
    status: 500,
    text: 'A stored record is older than its newest change and was not used.',
    advice: 'Report the request id to the operator, who runs `vault verify`. A retry will fail again.',
  },
  integrity_failed: {
    status: 500,
    text: 'A stored record failed its integrity check and was not used.',
    advice: 'Report the request id to the operator, who runs `vault verify`. A retry will fail again.',
  },
  internal: {
    status: 500,
    text: 'An unexpected error occurred in the service.',
    advice: 'Report the request id to the operator. A write may have been completed.',
  },
});
