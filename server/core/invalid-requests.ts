/** One error code. Its texts are constants that never contain data of the caller. */
export interface ErrorEntry {
  /** The HTTP status of the reply (RFC 9110). */
  readonly status: number;
  /** What is wrong, for the reply's `error`. */
  readonly text: string;
  /** What the caller can do about it, for the reference of errors. */
  readonly advice: string;
  /** The default of `Retry-After` in seconds, for errors that pass with time. */
  readonly retryAfterSeconds?: number;
}

/** Codes of invalid requests: a retry without a change fails again. Part of `ERRORS`. */
export const INVALID_REQUESTS = {
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
    text: 'The same parameter was sent in two places with different values.',
    advice: 'Send the value in one place only; for a passphrase, prefer the header.',
  },
  number_missing: {
    status: 400,
    text: 'The request contains no number to derive a token from.',
    advice:
      'Send a value with at least one digit as `card_number`, `account_number`, `n` or `number`, in the body or in the query. Rules of a capture endpoint run first and may have removed it. For data without a number, choose any identifier with a digit.',
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
    advice: 'Send the reference that the item was stored with; listings show it.',
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
      'Check the token, the field and the reference in `{{vault:TOKEN:FIELD:REFERENCE}}`; `field` of the error says where the placeholder stands. The reference is needed if the item was stored with one.',
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
} as const satisfies Readonly<Record<string, ErrorEntry>>;
