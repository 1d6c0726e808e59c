/** What is in a dialog can hold it open: a secret that nobody has kept yet, and a request whose reply may bring one. */
import { createContext } from 'preact';
import { useContext, useLayoutEffect } from 'preact/hooks';

interface Around {
  /** Changes how many parts hold it. */
  readonly hold: (change: (holds: number) => number) => void;
  readonly close: () => void;
}

/** The dialog around; outside of one there is nothing to hold. */
export const DialogAround = createContext<Around>({ hold: () => undefined, close: () => undefined });

/** Holds the dialog around open while `isHeld`. */
export function useHold(isHeld: boolean): void {
  const { hold } = useContext(DialogAround);
  useLayoutEffect(() => {
    if (!isHeld) {
      return undefined;
    }
    hold((holds) => holds + 1);
    return () => hold((holds) => holds - 1);
  }, [hold, isHeld]);
}
