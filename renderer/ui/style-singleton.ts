/**
 * Replaces the package `react-style-singleton` in the build, because that package creates style elements, which the
 * Content-Security-Policy forbids (style-src 'self'). A constructed style sheet is allowed, since injected markup
 * cannot create one.
 */
import { useEffect } from 'react';

interface Styles {
  readonly styles: string;
}

/** Returns a component that adds its styles while it is mounted. All mounted instances share one style sheet. */
export function styleSingleton() {
  let users = 0;
  const sheet = new CSSStyleSheet();
  const add = (styles: string): (() => void) => {
    if (users === 0) {
      sheet.replaceSync(styles);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    }
    users += 1;
    return () => {
      users -= 1;
      if (users === 0)
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter(each => each !== sheet);
    };
  };
  return function StyleSheet({ styles }: Styles) {
    useEffect(() => add(styles), [styles]);
    return null;
  };
}
