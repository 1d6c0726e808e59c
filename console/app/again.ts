import { useState } from 'preact/hooks';
import { VaultApiError } from '../../sdk/transport/errors.ts';

let ask: () => Promise<boolean> = async () => false;
/** The question that is being asked. */
let asked: Promise<boolean> | undefined;

/** Asks the person to sign in again, if an error says that this is needed; true once it is done. */
export async function signsInAgain(error: unknown): Promise<boolean> {
  return error instanceof VaultApiError && error.code === 'sign_in_again' && (await ask());
}

/** What answers the question, for the one element that asks it; undefined while nobody has to. */
export function useQuestion(): ((isSignedIn: boolean) => void) | undefined {
  const [answer, setAnswer] = useState<(isSignedIn: boolean) => void>();
  ask = () => {
    if (asked === undefined) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      setAnswer(() => resolve);
      asked = promise.finally(() => {
        asked = undefined;
        setAnswer(undefined);
      });
    }
    return asked;
  };
  return answer;
}
