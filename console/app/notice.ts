/** What was just done, told once to those who see the page and to those who hear it. */
import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 10_000;
const NONE = { text: '', place: '' };

let show: (text: string) => void = () => undefined;

/** Tells what was done, at the place that is shown then; elsewhere it would seem to be about what is shown there. */
export function notify(text: string): void {
  show(text);
}

/** The notice of the present place, for the one element that shows it. */
export function useNotice(): string {
  const [notice, setNotice] = useState(NONE);
  show = (text) => setNotice({ text, place: location.hash });
  useEffect(() => {
    const timer = setTimeout(() => setNotice(NONE), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return notice.place === location.hash ? notice.text : '';
}
