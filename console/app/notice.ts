import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 10_000;
const NONE = { text: '', place: '' };

let show: (text: string) => void = () => undefined;

/** Shows the result of an action, for a while and at the present address alone. */
export function notify(text: string): void {
  show(text);
}

/** The notice of the present address, for the one element that shows it. */
export function useNotice(): string {
  const [notice, setNotice] = useState(NONE);
  show = (text) => setNotice({ text, place: location.hash });
  useEffect(() => {
    const timer = setTimeout(() => setNotice(NONE), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return notice.place === location.hash ? notice.text : '';
}
