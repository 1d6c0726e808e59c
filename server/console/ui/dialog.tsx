/** Dialogs, on the browser's own element: it keeps the focus inside, closes with Escape, and gives the focus back. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { encode } from 'uqr';
import { T } from '../text/text.ts';
import { Form } from './form.tsx';
import { Copy } from './parts.tsx';

/** A dialog that is open as long as it is shown. */
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
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="small" onClick={() => element.current?.close()}>
          {T.close}
        </button>
      </header>
      {children}
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

/** A button for what cannot be undone: asks first, naming what it is about. */
export function Confirm({
  label,
  question,
  onConfirm,
}: {
  readonly label: string;
  readonly question: string;
  readonly onConfirm: () => Promise<void>;
}) {
  return (
    <Opener label={label} kind="danger">
      {(close) => (
        <>
          <p>{question}</p>
          <Form
            fields={[]}
            send={label}
            onSend={async () => {
              await onConfirm();
              close();
            }}
          />
        </>
      )}
    </Opener>
  );
}

/** A secret that is shown this once, and gone with the dialog. */
export function Once({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div class="once">
      <p>
        <strong>{label}</strong> {T.shownOnce}
      </p>
      <p class="line">
        <code>{text}</code> <Copy text={text} />
      </p>
    </div>
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
