/** The address in the console: the fragment of the URL, such as `#/items?user=customers`. It never contains a secret. */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  readonly screen: string;
  readonly params: Readonly<Record<string, string>>;
}

function parse(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  return { screen: path, params: Object.fromEntries(new URLSearchParams(query)) };
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
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const follow = (): void => setRoute(parse(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
