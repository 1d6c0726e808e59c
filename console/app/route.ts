/**
 * The address in the console: the fragment of the URL, such as `#/items?user=customers`. It never contains a secret, but for the link
 * of an invitation until it is opened.
 */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  readonly screen: string;
  readonly params: Readonly<Record<string, string>>;
}

/** The screen of an invitation, which is the only one whose address comes with a secret. */
const INVITATION = 'join';

function parse(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  return { screen: path, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The present place. The token of an invitation leaves the address, and so the history, at once. */
function read(): Route {
  const route = parse(location.hash);
  if (route.screen === INVITATION) {
    history.replaceState(null, '', linkTo(INVITATION));
  }
  return route;
}

/** The fragment for a screen; empty parameters are left out. */
export function linkTo(screen: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(params).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return `#/${screen}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
}

/** Goes to a screen, as a new entry of the history. */
export function goTo(screen: string, params?: Readonly<Record<string, string | undefined>>): void {
  location.hash = linkTo(screen, params);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const follow = (): void => setRoute(read());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
