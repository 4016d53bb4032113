import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface LinkCardProps {
  /** The `id` of the heading. */
  readonly id: string;
  readonly title: string;
  readonly href: string;
  /** Text of the link. */
  readonly link: string;
  readonly children: ReactNode;
}

/** A section that leads to the page where its subject is managed. */
export const LinkCard = ({ id, title, href, link, children }: LinkCardProps) => (
  <section className="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
    <p>
      <Link href={href}>{link}</Link>
    </p>
  </section>
);
