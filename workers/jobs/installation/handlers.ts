import { equalBytes } from '../../crypto/primitives/bytes.ts';
import { hmac } from '../../crypto/primitives/symmetric.ts';
import { decodeRoots, encodeRoots, type Roots, rootId, stepRoots } from '../../crypto/record/roots.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { ROOT_PLACE } from '../root-keys.ts';
import type { ROOT_JOBS } from './jobs.ts';

function open({ env, sealer }: ThreadContext, root: Uint8Array): Roots {
  const plain = sealer.open(...ROOT_PLACE, root);
  try {
    return decodeRoots(plain, env);
  } finally {
    plain.fill(0);
  }
}

export const ROOT_HANDLERS: ThreadHandlers<typeof ROOT_JOBS> = {
  describeRoot(context, { root }) {
    const { stage, roots, movedAtMs } = open(context, root);
    const ids = roots.map(rootId);
    return { state: [stage, ...ids].join('.'), stage, ids, movedAtMs };
  },

  stepRoot(context, { root, step, nowMs }) {
    const plain = encodeRoots(stepRoots(open(context, root), step, nowMs));
    try {
      return context.sealer.seal(...ROOT_PLACE, plain);
    } finally {
      plain.fill(0);
    }
  },

  otherFingerprints({ rootKey, rootKeys }, { account, data }) {
    const written = rootKey('idem', account);
    const keys = rootKeys('idem', account);
    return {
      prints: keys.flatMap((key) => (equalBytes(key, written) ? [] : [hmac(key, data)])),
      isWritingNewest: equalBytes(keys.at(-1) ?? written, written),
    };
  },
};
