import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface LinkCardProps {
  /** The element id of the heading. */
  readonly id: string;
  readonly title: string;
  readonly href: string;
  /** Text of the link. */
  readonly link: string;
  readonly children: ReactNode;
}

/** A section with a link to the page that manages its subject. */
export const LinkCard = ({ id, title, href, link, children }: LinkCardProps) => (
  <section className="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
    <p>
      <Link href={href}>{link}</Link>
    </p>
  </section>
);
