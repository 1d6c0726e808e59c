import { canSeal } from '../../sdk/seal/seal.ts';
import { advise } from '../base/advise.ts';
import { type Admission, admitted, type PageAround } from './admission.ts';
import { UNCONNECTED } from './failure-text.ts';
import { checkCapture, postCapture, readRetrieval } from './sealed.ts';
import type { PageContext } from './shell.ts';
import type { AttemptKeys, CallDeps, EndpointAddress, Outcome } from './submit.ts';

/** The endpoint of the visit, if it has one. */
export function addressOf({
  config,
  visit: { unique_id, secret },
}: PageContext): EndpointAddress | undefined {
  return unique_id === undefined || secret === undefined ? undefined : { api: config.api, unique_id, secret };
}

/** Asks for the state of the endpoint, unless the page around may not use it. */
export async function admitPage(context: PageContext & CallDeps, around: PageAround): Promise<Outcome> {
  return admitted(await checkEndpoint(context), around, context.config.api);
}

/** Posts a body, unless the page around may not use the endpoint. The same body has the same idempotency key until its outcome is known. */
export async function storeBody(
  context: PageContext & CallDeps & Admission,
  body: string,
  attempts: AttemptKeys,
): Promise<Outcome> {
  const endpoint = addressOf(context);
  if (endpoint === undefined) {
    return { failure: UNCONNECTED };
  }
  const state = context.isFramed ? await context.admit() : undefined;
  if (state !== undefined && 'failure' in state) {
    return state;
  }
  const query = { reference: context.visit.reference, form_type: context.config.form_type };
  const outcome = await postCapture(endpoint, query, body, attempts, context);
  attempts.settle(outcome);
  return outcome;
}

/** Names the setting for developers where the first request of a page gets no reply. */
function adviseUnreachable({ config: { api, testing } }: PageContext, outcome: Outcome): Outcome {
  if ('failure' in outcome && outcome.failure.code === 'network') {
    const setting = testing ? 'VAULT_STAGING_URL' : 'VAULT_PUBLIC_URL';
    advise(`This form got no reply from ${api}, which ${setting} of the vault names.`);
  }
  return outcome;
}

/** Checks that the endpoint of the visit accepts data. */
async function checkEndpoint(context: PageContext & CallDeps): Promise<Outcome> {
  const endpoint = addressOf(context);
  return endpoint === undefined
    ? { failure: UNCONNECTED }
    : adviseUnreachable(context, await checkCapture(endpoint, context));
}

/** Reads the item of the visit. */
export async function readItem(context: PageContext & CallDeps): Promise<Outcome> {
  const { token, reference } = context.visit;
  const endpoint = addressOf(context);
  if (endpoint === undefined || token === undefined) {
    return { failure: UNCONNECTED };
  }
  const query = { token, reference, form_type: context.config.form_type };
  return adviseUnreachable(context, await readRetrieval(endpoint, query, canSeal(), context));
}
