const SHOWN_MS = 2_000;

/** Copies where there is no clipboard for scripts, as on a page that came without TLS from another machine. */
function copySelected(code: Element): boolean {
  const selection = getSelection();
  selection?.selectAllChildren(code);
  const isCopied = document.execCommand('copy');
  selection?.removeAllRanges();
  return isCopied;
}

async function copy(code: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    return true;
  } catch {
    return copySelected(code);
  }
}

/** Puts a button into the head of every block of code; it says what became of the copy. */
export function addCopyButtons(): void {
  for (const figure of document.querySelectorAll('figure.code')) {
    const code = figure.querySelector('code');
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.ariaLive = 'polite';
    button.addEventListener('click', async () => {
      button.textContent = code !== null && (await copy(code)) ? 'Copied' : 'Not copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, SHOWN_MS);
    });
    figure.querySelector('figcaption')?.append(button);
  }
}
