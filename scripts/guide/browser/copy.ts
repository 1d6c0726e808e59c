const SHOWN_MS = 2_000;

/** Copies without the clipboard API, which a page over plain HTTP from another machine does not have. */
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

/** Adds a button to every code block, which reports whether the copy succeeded. */
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
