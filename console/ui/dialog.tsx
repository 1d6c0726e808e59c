/** Dialogs, on the browser's own element: it keeps the focus inside, closes with Escape, and gives the focus back. */
import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { encode } from 'uqr';
import { notify } from '../app/notice.ts';
import { T } from '../text/text.ts';
import { type Entered, Form, type FormParts, focusFirst } from './form.tsx';
import { DialogAround, useHold } from './hold.ts';
import { Copy } from './parts.tsx';

/** A dialog that is open as long as it is shown. What is in it can hold it open: neither Escape nor its button closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [holds, setHolds] = useState(0);
  const isHeld = holds > 0;
  const close = (): void => element.current?.close();
  // At once, so that a key that follows the click goes into the first field.
  useLayoutEffect(() => {
    element.current?.showModal();
    focusFirst(element.current);
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      // A browser lets a second Escape close what the first one did not, unless it knows this attribute.
      closedBy={isHeld ? 'none' : 'closerequest'}
      onCancel={(event) => isHeld && event.preventDefault()}
      onClose={onClose}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="small" aria-disabled={isHeld} onClick={() => isHeld || close()}>
          {T.close}
        </button>
      </header>
      <DialogAround.Provider value={{ hold: setHolds, close }}>{children}</DialogAround.Provider>
    </dialog>
  );
}

/** A button that opens a dialog; its content gets what closes it. */
export function Opener({
  label,
  title = label,
  kind,
  children,
}: {
  readonly label: string;
  readonly title?: string;
  readonly kind?: 'primary' | 'danger' | 'small';
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" class={kind} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  );
}

/** A button that asks first, naming what it is about, and tells what it has done: by default it deletes. */
export function Confirm({
  name = '',
  label = T.remove,
  question,
  done = T.removed(name),
  kind = 'danger',
  onConfirm,
}: {
  /** What it is about, where the screen does not say. */
  readonly name?: string;
  readonly label?: string;
  readonly question: string;
  readonly done?: string;
  /** `danger` is for what cannot be undone. */
  readonly kind?: 'primary' | 'danger';
  readonly onConfirm: () => Promise<void>;
}) {
  return (
    <Opener label={label} kind={kind}>
      {(close) => (
        <>
          <p>{name === '' ? question : `${name}: ${question}`}</p>
          <Form
            fields={[]}
            send={label}
            kind={kind}
            onSend={async () => {
              await onConfirm();
              close();
              notify(done);
            }}
          />
        </>
      )}
    </Opener>
  );
}

/**
 * A secret that is shown this once, with what else has it, and gone with the dialog, which stays until the reader says
 * that it is kept. It takes the focus from the form that was sent.
 */
export function Once({ label, text, children }: OnceParts) {
  const element = useRef<HTMLDivElement>(null);
  const { close } = useContext(DialogAround);
  useHold(true);
  useEffect(() => element.current?.focus(), []);
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of form fields is what the element would be. */}
      <div class="once" ref={element} tabIndex={-1} role="group" aria-label={label}>
        <p>
          <strong>{label}</strong> {T.shownOnce}
        </p>
        <p class="line">
          <code>{text}</code> <Copy text={text} />
        </p>
      </div>
      {children}
      <button type="button" class="primary" onClick={close}>
        {T.kept}
      </button>
    </>
  );
}

interface OnceParts {
  readonly label: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

/** A form that makes a secret, which is then shown in its place. */
export function SecretForm({
  label,
  about,
  make,
  ...form
}: Omit<FormParts, 'onSend'> & {
  /** What the secret is. */
  readonly label: string;
  /** What is said above the form. */
  readonly about?: ComponentChildren;
  readonly make: (entered: Entered) => Promise<string>;
}) {
  const [secret, setSecret] = useState<string>();
  return secret === undefined ? (
    <>
      {about}
      <Form {...form} onSend={async (entered) => setSecret(await make(entered))} />
    </>
  ) : (
    <Once label={label} text={secret} />
  );
}

/** A link as a QR code, for a phone beside the screen. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 2 });
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" />
    </svg>
  );
}
