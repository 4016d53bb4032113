/**
 * Takes the place of the package `react-style-singleton` in the build: that makes style elements, which the page's policy
 * forbids (style-src 'self'). A constructed style sheet does the same, and no markup can make one.
 */
import { useEffect } from 'react';

interface Styles {
  readonly styles: string;
}

/** A component that adds its styles while it is mounted; several of them share the styles of the first. */
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
      if (users === 0) document.adoptedStyleSheets = document.adoptedStyleSheets.filter(one => one !== sheet);
    };
  };
  return function StyleSheet({ styles }: Styles) {
    useEffect(() => add(styles), [styles]);
    return null;
  };
}
