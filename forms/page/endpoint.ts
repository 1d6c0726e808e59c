/** What a page does with its endpoint: store what was entered, or read an item. */
import { UNCONNECTED } from './failure-text.ts';
import { checkCapture, postCapture } from './sealed.ts';
import type { PageContext } from './shell.ts';
import { type AttemptKeys, type CallDeps, call, callUrl, type Outcome } from './submit.ts';

/** Posts a body. The same body has the same idempotency key until its outcome is known. */
export async function storeBody(
  context: PageContext & CallDeps,
  body: string,
  attempts: AttemptKeys,
): Promise<Outcome> {
  const { config, visit } = context;
  const { unique_id, secret, reference } = visit;
  if (unique_id === undefined || secret === undefined) {
    return { failure: UNCONNECTED };
  }
  const endpoint = { api: config.api, unique_id, secret };
  const query = { reference, form_type: config.form_type };
  const outcome = await postCapture(endpoint, query, body, attempts, context);
  attempts.settle(outcome);
  return outcome;
}

/** Asks whether the endpoint of the visit takes data: what is told before somebody types a card for nothing. */
export async function checkEndpoint({
  config,
  visit,
  fetch,
  wait,
}: PageContext & CallDeps): Promise<Outcome> {
  const { unique_id, secret } = visit;
  if (unique_id === undefined || secret === undefined) {
    return { failure: UNCONNECTED };
  }
  return checkCapture({ api: config.api, unique_id, secret }, { fetch, wait });
}

/** Reads the item of the visit. */
export async function readItem(context: PageContext & CallDeps): Promise<Outcome> {
  const { config, visit } = context;
  const { unique_id, secret, token, reference } = visit;
  if (unique_id === undefined || secret === undefined || token === undefined) {
    return { failure: UNCONNECTED };
  }
  const url = callUrl(config.api, 'retrieve', unique_id, { token, reference, form_type: config.form_type });
  return call(url, { headers: { 'X-Vault-Retrieve-Secret': secret } }, context);
}
