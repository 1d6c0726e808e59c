/** Outcomes of uses of an item, by their numbers in an entry of its action log. */

/**
 * `ok` and the codes of `server/core/errors.ts`. The position in this list is what an entry holds: a new code goes to the
 * end, and none is ever moved or removed.
 */
const OUTCOMES = [
  'ok',
  'invalid_request',
  'invalid_json',
  'json_too_deep',
  'duplicate_parameter',
  'conflicting_parameters',
  'number_missing',
  'test_card',
  'reference_required',
  'cursor_invalid',
  'rule_limit',
  'certificate_invalid',
  'certificate_private_key',
  'certificate_mismatch',
  'template_limit',
  'destination_refused',
  'idempotency_passphrase_required',
  'unauthenticated',
  'passphrase_wrong',
  'not_allowed',
  'endpoint_refused',
  'endpoint_out_of_scope',
  'not_found',
  'key_not_found',
  'token_not_found',
  'rule_not_found',
  'csr_not_found',
  'certificate_not_found',
  'endpoint_not_found',
  'preference_not_found',
  'form_not_found',
  'method_not_allowed',
  'key_exists',
  'endpoint_exists',
  'rule_exists',
  'form_exists',
  'certificates_full',
  'forms_full',
  'rules_full',
  'key_not_empty',
  'key_changed',
  'password_changed',
  'preferences_full',
  'idempotency_conflict',
  'endpoint_gone',
  'body_too_large',
  'too_many_failures',
  'rate_limited',
  'jobs_full',
  'too_many_changes',
  'target_unreachable',
  'reply_too_large',
  'outcome_unknown',
  'reply_not_storable',
  'target_timeout',
  'overloaded',
  'store_unavailable',
  'integrity_failed',
  'internal',
  'path_invalid',
  'record_rolled_back',
  'content_encoding_unsupported',
  'unknown_parameter',
  'template_missing',
  'token_exists',
  'connection_closed',
  'patches_full',
  'credential_not_found',
  'credentials_full',
  'job_not_found',
  'job_started',
  'job_not_finished',
  'job_cancelled',
  'metadata_sensitive',
  'connection_not_found',
  'connection_exists',
  'connections_full',
  'placeholder_unknown',
  'sealing_required',
  'sealing_key_expired',
  'recovery_refused',
  'recovery_not_found',
  'reply_too_complex',
] as const;

/** What an entry says of how a use ended: `ok`, or the code of the error that its caller received. */
export type LogOutcome = (typeof OUTCOMES)[number];

/** The number of an outcome, 0 to 255. */
export function outcomeNumber(outcome: LogOutcome): number {
  return OUTCOMES.indexOf(outcome);
}

/** The outcome of a number; `unknown` for one that a later version has written. */
export function outcomeOf(number: number): LogOutcome | 'unknown' {
  return OUTCOMES[number] ?? 'unknown';
}
