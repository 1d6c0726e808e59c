/** Why Redis refuses writes: the first word of its error reply, and the rest of a sentence about Redis. */
const REFUSALS = {
  OOM: 'its memory is full; raise maxmemory, or delete data',
  MISCONF: 'it cannot write its files; see its log, and free space on its disk',
  READONLY: 'it is a replica; VAULT_REDIS_URL must name its primary',
  NOREPLICAS: 'too few of its replicas are connected, or confirm writes in time',
} as const;

export type WriteRefusal = keyof typeof REFUSALS;

function isRefusal(word: string): word is WriteRefusal {
  return Object.hasOwn(REFUSALS, word);
}

/** The longest chain of causes: an error may, by mistake, be its own cause. */
const CAUSES_MAX = 8;

/** The reason why Redis has refused a write, from the error of the write or one of its causes; undefined for any other error. */
export function refusalOf(error: unknown): WriteRefusal | undefined {
  let inner = error;
  for (let i = 0; i < CAUSES_MAX && inner instanceof Error; i++) {
    const [word = ''] = /^[A-Z]+\b/.exec(inner.message) ?? [];
    if (isRefusal(word)) {
      return word;
    }
    inner = inner.cause;
  }
  return undefined;
}

/** The line for an operator about refused writes. */
export function describeRefusal(refusal: WriteRefusal): string {
  return `Redis refuses writes (${refusal}): ${REFUSALS[refusal]}.`;
}
