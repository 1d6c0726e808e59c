/** The networks of a card that has several, asked for by its first digits, so that its holder can choose (EU 2015/751, article 8). */
import { members, texts } from '../base/config.ts';
import { type CallDeps, call, type EndpointAddress } from './submit.ts';

const DIGITS = 8;

/** Asks for the networks of each card, whose digits it receives while they are entered; `offer` receives those of the last one, none unless there are several. */
export function createNetworkLookup(
  to: EndpointAddress | undefined,
  deps: CallDeps,
  offer: (networks: readonly string[]) => void,
): (digits: string) => void {
  const known = new Map<string, readonly string[]>();
  let last = '';
  return (digits) => {
    const lead = digits.length < DIGITS ? '' : digits.slice(0, DIGITS);
    if (lead === last || to === undefined) {
      return;
    }
    last = lead;
    offer(known.get(lead) ?? []);
    if (lead === '' || known.has(lead)) {
      return;
    }
    const { api, unique_id, secret } = to;
    const url = `${api}/v1/capture/${encodeURIComponent(unique_id)}/bin/${lead}`;
    void call(url, { headers: { 'X-Vault-Capture-Secret': secret } }, deps).then((outcome) => {
      // Without a reply nothing is offered, and the form works as without networks.
      const networks = 'failure' in outcome ? [] : texts(members(outcome.reply)['networks']);
      const several = networks.length > 1 ? networks : [];
      known.set(lead, several);
      if (lead === last) {
        offer(several);
      }
    });
  };
}
