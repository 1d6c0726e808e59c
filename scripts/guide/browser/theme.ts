/** The colours of the guide: those of the system, or light or dark ones, as chosen in this browser. */

const NAME = 'guide-theme';
const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

function isTheme(text: string | null): text is Theme {
  return THEMES.some((theme) => theme === text);
}

/** The choice of before. A browser that keeps nothing, or forbids to look, has the colours of the system. */
function kept(): Theme {
  try {
    const text = localStorage.getItem(NAME);
    return isTheme(text) ? text : 'system';
  } catch {
    return 'system';
  }
}

function apply(theme: Theme): void {
  const root = document.documentElement;
  root.style.colorScheme = theme === 'system' ? '' : theme;
  root.dataset['theme'] = theme;
}

/** Shows the page in the chosen colours, before it is painted. */
export function applyTheme(): void {
  apply(kept());
}

/** Adds the choice above the contents. */
export function addThemeChoice(): void {
  const label = document.createElement('label');
  label.className = 'theme';
  const select = document.createElement('select');
  select.append(...THEMES.map((theme) => new Option(theme[0]?.toUpperCase() + theme.slice(1), theme)));
  select.value = kept();
  select.addEventListener('change', () => {
    if (isTheme(select.value)) {
      apply(select.value);
      try {
        localStorage.setItem(NAME, select.value);
      } catch {
        // It lasts for this page alone.
      }
    }
  });
  label.append('Colours ', select);
  document.querySelector('.contents > nav')?.prepend(label);
}
