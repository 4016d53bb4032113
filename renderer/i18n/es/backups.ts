import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': 'Copias de seguridad',
  'backups.what':
    'Copias de la base de datos: trabajos, workers, tokens y registro de auditoría. Cada copia se comprueba después de escribirla. Las configuraciones y estos ajustes se guardan aparte y no se incluyen.',
  'backups.hourly': 'Última copia horaria:',
  'backups.none': 'Aún no hay copias.',
  'backups.all': '{count, plural, one {Mostrar # copia} other {Mostrar las # copias}}',
  'backups.make': 'Crear copia',
  'backups.making': 'Creando y comprobando la copia…',
  'backups.made': 'Copia creada y comprobada.',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'Cada hora',
  'backups.kind.manual': 'Manual',
  'backups.kind.upgrade': 'Antes de una actualización',
  'backups.kind.restore': 'Antes de una restauración',
  'backups.restore': 'Restaurar…',
  'backups.restore.of': 'Restaurar {name}',
  'backups.restore.title': '¿Restaurar esta copia?',
  'backups.restore.consequence':
    'El orquestador vuelve al estado de esta copia. Se descartan los cambios posteriores en trabajos, workers y tokens. El registro de auditoría conserva todas sus entradas.',
  'backups.restore.asOf': 'Estado del:',
  'backups.restore.saved':
    'Antes se guarda el estado actual como copia, para poder deshacer la restauración.',
  'backups.restore.workers':
    'Los workers siguen entrenando. Un trabajo que no está en la copia se detiene cuando su worker se reconecta. Los workers que se unieron después deben unirse de nuevo.',
  'backups.restore.signIn':
    'También se restauran las sesiones y los tokens: los revocados después vuelven a ser válidos, y puede que tenga que iniciar sesión otra vez. El token de administración no cambia.',
  'backups.restore.type': 'Escriba su nombre para confirmar:',
  'backups.restore.act': 'Restaurar copia',
  'backups.restoring':
    'Restaurando {name}: se guarda el estado actual y el servidor se detiene un momento. Esta página se reconecta sola.',
  'backups.restored': 'Restaurada. El estado anterior está guardado como {saved}.',
  'retention.title': 'Registro de auditoría',
  'retention.all': 'Se conservan todas las entradas.',
  'retention.some':
    '{count, plural, one {Las entradas se conservan # día.} other {Las entradas se conservan # días.}}',
  'retention.days': 'Días que se conserva',
  'retention.hint': 'Vacío: se conservan todas las entradas.',
  'retention.what':
    'Las entradas más antiguas se eliminan varias veces al día. En su lugar queda una marca sellada, para poder verificar el resto. Lo eliminado no se puede recuperar: expórtelo antes si lo necesita.',
};
