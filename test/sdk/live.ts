/** The real application for the SDK's tests, and ways to it that lose, refuse or watch requests. */
import type { CaptureItem } from '../../sdk/index.ts';
import type { AccountClient, Handle } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** A published test number. */
export const CARD = '4111111111111111';

/** One account with a key named customers, on a vault whose clock a test can move. */
export interface Live {
  readonly vault: TestVault;
  readonly owner: AccountClient;
  readonly passTime: (ms: number) => void;
}

/** Opens an empty vault with one account and its key. */
export async function openLive(): Promise<Live> {
  let aheadMs = 0;
  const vault = await openTestVault({ now: () => Date.now() + aheadMs });
  const owner = await vault.account();
  await owner.key('customers');
  return {
    vault,
    owner,
    passTime: (ms) => {
      aheadMs += ms;
    },
  };
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The way to an application in this process. */
export function fetchOf(handle: Handle): Fetch {
  return async (url, init) => handle(new Request(url, init));
}

/** A way on which the first reply is lost after the application has done its work. */
export function losingFirstReply(handle: Handle): Fetch {
  let lost = false;
  return async (url, init) => {
    const response = await handle(new Request(url, init));
    if (!lost) {
      lost = true;
      await response.arrayBuffer();
      throw new TypeError('The connection was reset.');
    }
    return response;
  };
}

/** How a call failed, as `403 endpoint_refused`; throws when it did not. */
export async function outcomeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    const { status, code } = Object(error);
    return code === undefined ? String(error) : `${status} ${code}`;
  }
  throw new Error('The call was expected to fail.');
}

/** The item of most captures, together with the endpoint that it goes to where that is not known already. */
export function cardFor<Made extends object>(
  made: Made,
  more: Partial<CaptureItem> = {},
): Made & CaptureItem {
  return { ...made, data: { card_number: CARD }, ...more };
}
