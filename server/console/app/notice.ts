/** What was just done, told once to those who see the page and to those who hear it. */
import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 10_000;

let show: (text: string) => void = () => undefined;

/** Tells what was done, on whichever screen is shown then. */
export function notify(text: string): void {
  show(text);
}

/** The present notice, for the one place that shows it. */
export function useNotice(): string {
  const [notice, setNotice] = useState({ text: '' });
  show = (text) => setNotice({ text });
  useEffect(() => {
    const timer = setTimeout(() => setNotice({ text: '' }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return notice.text;
}
