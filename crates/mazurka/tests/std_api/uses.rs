//! Uses of all items but the methods of atomics.

use super::Use;

used_by_both! {
    "std::cell::UnsafeCell::get": {
        let value = cell::UnsafeCell::new(1);
        unsafe { *value.get() }
    };
    "std::cell::UnsafeCell::get_mut": *cell::UnsafeCell::new(1).get_mut();
    "std::cell::UnsafeCell::into_inner": cell::UnsafeCell::new(1).into_inner();
    "std::cell::UnsafeCell::new": cell::UnsafeCell::new(1);
    "std::cell::UnsafeCell::raw_get": {
        let value = cell::UnsafeCell::new(1);
        unsafe { *cell::UnsafeCell::raw_get(&raw const value) }
    };

    "std::sync::Arc::as_ptr": unsafe { *sync::Arc::as_ptr(&sync::Arc::new(1)) };
    "std::sync::Arc::assume_init": {
        let slice = unsafe { sync::Arc::<[u8]>::new_zeroed_slice(2).assume_init() };
        (slice, unsafe { sync::Arc::<u8>::new_zeroed().assume_init() })
    };
    "std::sync::Arc::decrement_strong_count": {
        let arc = sync::Arc::new(1);
        let pointer = sync::Arc::into_raw(arc.clone());
        unsafe { sync::Arc::decrement_strong_count(pointer) };
        sync::Arc::strong_count(&arc)
    };
    "std::sync::Arc::downcast": {
        let any = sync::Arc::<dyn std::any::Any + Send + Sync>::from(
            Box::new(1_u8) as Box<dyn std::any::Any + Send + Sync>
        );
        (any.clone().downcast::<u8>().is_ok(), any.downcast::<u16>().is_err())
    };
    "std::sync::Arc::downgrade": sync::Arc::downgrade(&sync::Arc::new(1)).upgrade();
    "std::sync::Arc::from_raw": unsafe { sync::Arc::from_raw(sync::Arc::into_raw(sync::Arc::new(1))) };
    "std::sync::Arc::get_mut": {
        let mut arc = sync::Arc::new(1);
        let other = arc.clone();
        let shared = sync::Arc::get_mut(&mut arc).is_none();
        drop(other);
        (shared, sync::Arc::get_mut(&mut arc).copied())
    };
    "std::sync::Arc::increment_strong_count": {
        let arc = sync::Arc::new(1);
        let pointer = sync::Arc::into_raw(arc);
        let arc = unsafe {
            sync::Arc::increment_strong_count(pointer);
            (sync::Arc::from_raw(pointer), sync::Arc::from_raw(pointer))
        };
        sync::Arc::strong_count(&arc.0)
    };
    "std::sync::Arc::into_inner": sync::Arc::into_inner(sync::Arc::new(1));
    "std::sync::Arc::into_raw": {
        let pointer = sync::Arc::into_raw(sync::Arc::new(1));
        unsafe { *sync::Arc::from_raw(pointer) }
    };
    "std::sync::Arc::make_mut": {
        let mut arc = sync::Arc::new(1);
        let other = arc.clone();
        *sync::Arc::make_mut(&mut arc) = 2;
        (arc, other)
    };
    "std::sync::Arc::new": sync::Arc::new(1);
    "std::sync::Arc::new_cyclic": sync::Arc::new_cyclic(|weak: &sync::Weak<usize>| weak.strong_count());
    "std::sync::Arc::new_uninit": {
        let mut arc = sync::Arc::<u8>::new_uninit();
        sync::Arc::get_mut(&mut arc).unwrap().write(1);
        unsafe { arc.assume_init() }
    };
    "std::sync::Arc::new_uninit_slice": sync::Arc::<[u8]>::new_uninit_slice(2).len();
    "std::sync::Arc::new_zeroed": unsafe { sync::Arc::<u8>::new_zeroed().assume_init() };
    "std::sync::Arc::new_zeroed_slice": unsafe { sync::Arc::<[u8]>::new_zeroed_slice(2).assume_init() };
    "std::sync::Arc::pin": sync::Arc::pin(1);
    "std::sync::Arc::ptr_eq": {
        let arc = sync::Arc::new(1);
        (sync::Arc::ptr_eq(&arc, &arc.clone()), sync::Arc::ptr_eq(&arc, &sync::Arc::new(1)))
    };
    "std::sync::Arc::strong_count": {
        let arc = sync::Arc::new(1);
        let _other = arc.clone();
        sync::Arc::strong_count(&arc)
    };
    "std::sync::Arc::try_unwrap": sync::Arc::try_unwrap(sync::Arc::new(1));
    "std::sync::Arc::unwrap_or_clone": sync::Arc::unwrap_or_clone(sync::Arc::new(1));
    "std::sync::Arc::weak_count": sync::Arc::weak_count(&sync::Arc::new(1));

    "std::sync::Barrier::new": sync::Barrier::new(1).wait().is_leader();
    "std::sync::Barrier::wait": sync::Barrier::new(1).wait();
    "std::sync::BarrierWaitResult::is_leader": sync::Barrier::new(1).wait().is_leader();

    "std::sync::Condvar::new": sync::Condvar::new();
    "std::sync::Condvar::notify_all": sync::Condvar::new().notify_all();
    "std::sync::Condvar::notify_one": sync::Condvar::new().notify_one();
    "std::sync::Condvar::wait": {
        let pair = sync::Arc::new((sync::Mutex::new(false), sync::Condvar::new()));
        let other = pair.clone();
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut guard = pair.0.lock().unwrap();
        while !*guard {
            guard = pair.1.wait(guard).unwrap();
        }
        child.join().unwrap();
        *guard
    };
    "std::sync::Condvar::wait_timeout": {
        let (lock, condvar) = (sync::Mutex::new(1), sync::Condvar::new());
        let (guard, result) = condvar.wait_timeout(lock.lock().unwrap(), SOON).unwrap();
        (*guard, result.timed_out())
    };
    "std::sync::Condvar::wait_timeout_ms": {
        let (lock, condvar) = (sync::Mutex::new(1), sync::Condvar::new());
        let (guard, notified) = condvar.wait_timeout_ms(lock.lock().unwrap(), 1).unwrap();
        (*guard, notified)
    };
    "std::sync::Condvar::wait_timeout_while": {
        let (lock, condvar) = (sync::Mutex::new(1), sync::Condvar::new());
        let waited = condvar.wait_timeout_while(lock.lock().unwrap(), SOON, |value| *value == 1);
        waited.unwrap().1.timed_out()
    };
    "std::sync::Condvar::wait_while": {
        let (lock, condvar) = (sync::Mutex::new(1), sync::Condvar::new());
        *condvar.wait_while(lock.lock().unwrap(), |value| *value == 2).unwrap()
    };
    "std::sync::WaitTimeoutResult::timed_out": {
        let (lock, condvar) = (sync::Mutex::new(1), sync::Condvar::new());
        let (_guard, result): (_, sync::WaitTimeoutResult) =
            condvar.wait_timeout(lock.lock().unwrap(), SOON).unwrap();
        result.timed_out()
    };

    "std::sync::LazyLock::force": *sync::LazyLock::force(&sync::LazyLock::new(|| 1));
    "std::sync::LazyLock::force_mut": *sync::LazyLock::force_mut(&mut sync::LazyLock::new(|| 1));
    "std::sync::LazyLock::get": sync::LazyLock::get(&sync::LazyLock::<u8>::new(|| 1)).copied();
    "std::sync::LazyLock::get_mut": sync::LazyLock::get_mut(&mut sync::LazyLock::<u8>::new(|| 1)).copied();
    "std::sync::LazyLock::new": *sync::LazyLock::new(|| 1);

    "std::sync::Mutex::clear_poison": {
        let lock = sync::Mutex::new(1);
        let panicked = panics(|| {
            let _guard = lock.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        let poisoned = lock.is_poisoned();
        lock.clear_poison();
        (panicked, poisoned, lock.is_poisoned())
    };
    "std::sync::Mutex::get_mut": sync::Mutex::new(1).get_mut().map(|value| *value);
    "std::sync::Mutex::into_inner": sync::Mutex::new(1).into_inner();
    "std::sync::Mutex::is_poisoned": sync::Mutex::new(1).is_poisoned();
    "std::sync::Mutex::lock": sync::Mutex::new(1).lock().map(|guard| *guard).unwrap();
    "std::sync::Mutex::new": sync::Mutex::new(1);
    "std::sync::Mutex::try_lock": {
        let lock = sync::Mutex::new(1);
        let guard = lock.try_lock();
        (guard.is_ok(), lock.try_lock().is_err())
    };
    "std::sync::MutexGuard": {
        let lock = sync::Mutex::new(1);
        let mut guard: sync::MutexGuard<'_, u8> = lock.lock().unwrap();
        *guard += 1;
        *guard
    };

    "std::sync::ONCE_INIT": {
        let once: sync::Once = sync::ONCE_INIT;
        once.is_completed()
    };
    "std::sync::Once::call_once": {
        let (once, mut calls) = (sync::Once::new(), 0);
        once.call_once(|| calls += 1);
        once.call_once(|| calls += 1);
        calls
    };
    "std::sync::Once::call_once_force": {
        let once = sync::Once::new();
        let mut poisoned = None;
        once.call_once_force(|state| poisoned = Some(state.is_poisoned()));
        poisoned
    };
    "std::sync::Once::is_completed": sync::Once::new().is_completed();
    "std::sync::Once::new": sync::Once::new().is_completed();
    "std::sync::Once::wait": {
        let once = sync::Once::new();
        once.call_once(|| ());
        once.wait()
    };
    "std::sync::Once::wait_force": {
        let once = sync::Once::new();
        once.call_once(|| ());
        once.wait_force()
    };
    "std::sync::OnceState::is_poisoned": {
        let mut poisoned = None;
        sync::Once::new()
            .call_once_force(|state: &sync::OnceState| poisoned = Some(state.is_poisoned()));
        poisoned
    };

    "std::sync::OnceLock::get": sync::OnceLock::<u8>::new().get().copied();
    "std::sync::OnceLock::get_mut": sync::OnceLock::<u8>::new().get_mut().copied();
    "std::sync::OnceLock::get_or_init": *sync::OnceLock::new().get_or_init(|| 1);
    "std::sync::OnceLock::into_inner": sync::OnceLock::from(1).into_inner();
    "std::sync::OnceLock::new": sync::OnceLock::<u8>::new();
    "std::sync::OnceLock::set": {
        let lock = sync::OnceLock::new();
        (lock.set(1), lock.set(2))
    };
    "std::sync::OnceLock::take": sync::OnceLock::from(1).take();
    "std::sync::OnceLock::wait": *sync::OnceLock::from(1).wait();

    "std::sync::RwLock::clear_poison": {
        let lock = sync::RwLock::new(1);
        let panicked = panics(|| {
            let _guard = lock.write();
            std::panic::resume_unwind(Box::new(()));
        });
        let poisoned = lock.is_poisoned();
        lock.clear_poison();
        (panicked, poisoned, lock.is_poisoned())
    };
    "std::sync::RwLock::get_mut": sync::RwLock::new(1).get_mut().map(|value| *value);
    "std::sync::RwLock::into_inner": sync::RwLock::new(1).into_inner();
    "std::sync::RwLock::is_poisoned": sync::RwLock::new(1).is_poisoned();
    "std::sync::RwLock::new": sync::RwLock::new(1);
    "std::sync::RwLock::read": sync::RwLock::new(1).read().map(|guard| *guard).unwrap();
    "std::sync::RwLock::try_read": {
        let lock = sync::RwLock::new(1);
        let guard = lock.try_read();
        (guard.is_ok(), lock.try_read().is_ok())
    };
    "std::sync::RwLock::try_write": {
        let lock = sync::RwLock::new(1);
        let guard = lock.try_write();
        (guard.is_ok(), lock.try_write().is_err())
    };
    "std::sync::RwLock::write": sync::RwLock::new(1).write().map(|guard| *guard).unwrap();
    "std::sync::RwLockReadGuard": {
        let lock = sync::RwLock::new(1);
        let guard: sync::RwLockReadGuard<'_, u8> = lock.read().unwrap();
        *guard
    };
    "std::sync::RwLockWriteGuard::downgrade": {
        let lock = sync::RwLock::new(1);
        let guard = sync::RwLockWriteGuard::downgrade(lock.write().unwrap());
        (*guard, lock.try_read().is_ok())
    };

    "std::sync::Weak::as_ptr": {
        let arc = sync::Arc::new(1);
        unsafe { *sync::Arc::downgrade(&arc).as_ptr() }
    };
    "std::sync::Weak::from_raw": {
        let arc = sync::Arc::new(1);
        unsafe { sync::Weak::from_raw(sync::Arc::downgrade(&arc).into_raw()) }.upgrade()
    };
    "std::sync::Weak::into_raw": {
        let arc = sync::Arc::new(1);
        let pointer = sync::Arc::downgrade(&arc).into_raw();
        let weak = unsafe { sync::Weak::from_raw(pointer) };
        (weak.strong_count(), sync::Arc::weak_count(&arc))
    };
    "std::sync::Weak::new": sync::Weak::<u8>::new().upgrade();
    "std::sync::Weak::ptr_eq": {
        let weak = sync::Arc::downgrade(&sync::Arc::new(1));
        (weak.ptr_eq(&weak.clone()), weak.ptr_eq(&sync::Weak::new()))
    };
    "std::sync::Weak::strong_count": sync::Arc::downgrade(&sync::Arc::new(1)).strong_count();
    "std::sync::Weak::upgrade": sync::Arc::downgrade(&sync::Arc::new(1)).upgrade();
    "std::sync::Weak::weak_count": sync::Arc::downgrade(&sync::Arc::new(1)).weak_count();

    "std::sync::atomic::ATOMIC_BOOL_INIT": sync::atomic::ATOMIC_BOOL_INIT;
    "std::sync::atomic::ATOMIC_ISIZE_INIT": sync::atomic::ATOMIC_ISIZE_INIT;
    "std::sync::atomic::ATOMIC_USIZE_INIT": sync::atomic::ATOMIC_USIZE_INIT;
    "std::sync::atomic::compiler_fence": sync::atomic::compiler_fence(SeqCst);
    "std::sync::atomic::fence": sync::atomic::fence(SeqCst);
    "std::sync::atomic::spin_loop_hint": sync::atomic::spin_loop_hint();

    "std::sync::mpsc::IntoIter": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        drop(to);
        let all: sync::mpsc::IntoIter<u8> = from.into_iter();
        all.collect::<Vec<_>>()
    };
    "std::sync::mpsc::Iter": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        drop(to);
        let all: sync::mpsc::Iter<'_, u8> = from.iter();
        all.collect::<Vec<_>>()
    };
    "std::sync::mpsc::Receiver::iter": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        drop(to);
        from.iter().collect::<Vec<_>>()
    };
    "std::sync::mpsc::Receiver::recv": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        drop(to);
        (from.recv(), from.recv())
    };
    "std::sync::mpsc::Receiver::recv_timeout": {
        let (to, from) = sync::mpsc::channel::<u8>();
        let late = from.recv_timeout(SOON);
        drop(to);
        (late, from.recv_timeout(SOON))
    };
    "std::sync::mpsc::Receiver::try_iter": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        from.try_iter().collect::<Vec<_>>()
    };
    "std::sync::mpsc::Receiver::try_recv": {
        let (to, from) = sync::mpsc::channel::<u8>();
        let empty = from.try_recv();
        drop(to);
        (empty, from.try_recv())
    };
    "std::sync::mpsc::Sender::send": {
        let (to, from) = sync::mpsc::channel();
        let sent = to.send(1);
        drop(from);
        (sent, to.send(2))
    };
    "std::sync::mpsc::SyncSender::send": {
        let (to, from) = sync::mpsc::sync_channel(1);
        let sent = to.send(1);
        drop(from);
        (sent, to.send(2))
    };
    "std::sync::mpsc::SyncSender::try_send": {
        let (to, from) = sync::mpsc::sync_channel(1);
        let sent = (to.try_send(1), to.try_send(2));
        drop(from);
        (sent, to.try_send(3))
    };
    "std::sync::mpsc::TryIter": {
        let (to, from) = sync::mpsc::channel();
        to.send(1).unwrap();
        let all: sync::mpsc::TryIter<'_, u8> = from.try_iter();
        all.collect::<Vec<_>>()
    };
    "std::sync::mpsc::channel": sync::mpsc::channel::<u8>().1.try_recv();
    "std::sync::mpsc::sync_channel": sync::mpsc::sync_channel::<u8>(0).1.try_recv();

    "std::task::ready": {
        fn double(value: task::Poll<u8>) -> task::Poll<u8> {
            task::Poll::Ready(task::ready!(value) * 2)
        }
        (double(task::Poll::Pending), double(task::Poll::Ready(1)))
    };

    "std::thread::Builder::name": {
        let child = thread::Builder::new().name("child".to_owned());
        child.spawn(|| thread::current().name().map(str::to_owned)).unwrap().join().unwrap()
    };
    "std::thread::Builder::new": thread::Builder::new().spawn(|| 1).unwrap().join().unwrap();
    "std::thread::Builder::spawn": thread::Builder::new().spawn(|| 1).unwrap().join().unwrap();
    "std::thread::Builder::spawn_scoped": {
        let one = 1;
        thread::scope(|scope| {
            thread::Builder::new().spawn_scoped(scope, || one + 1).unwrap().join().unwrap()
        })
    };
    "std::thread::Builder::spawn_unchecked": {
        let one = 1;
        unsafe { thread::Builder::new().spawn_unchecked(|| one + 1) }.unwrap().join().unwrap()
    };
    "std::thread::Builder::stack_size": {
        let child = thread::Builder::new().stack_size(1 << 20);
        child.spawn(|| 1).unwrap().join().unwrap()
    };
    "std::thread::JoinHandle::is_finished": {
        let child = thread::spawn(|| 1);
        while !child.is_finished() {
            thread::yield_now();
        }
        child.join().unwrap()
    };
    "std::thread::JoinHandle::join": thread::spawn(|| 1).join().unwrap();
    "std::thread::JoinHandle::thread": thread::spawn(|| 1).thread().name().map(str::to_owned);
    "std::thread::LocalKey::get": {
        thread_local!(static LOCAL: std::cell::Cell<u8> = const { std::cell::Cell::new(1) });
        LOCAL.get()
    };
    "std::thread::LocalKey::replace": {
        thread_local!(static LOCAL: std::cell::RefCell<u8> = const { std::cell::RefCell::new(1) });
        thread::spawn(|| LOCAL.replace(2)).join().unwrap()
    };
    "std::thread::LocalKey::set": {
        thread_local!(static LOCAL: std::cell::Cell<u8> = const { std::cell::Cell::new(1) });
        LOCAL.set(2);
        LOCAL.get()
    };
    "std::thread::LocalKey::take": {
        thread_local!(static LOCAL: std::cell::Cell<u8> = const { std::cell::Cell::new(1) });
        thread::spawn(|| (LOCAL.take(), LOCAL.get())).join().unwrap()
    };
    "std::thread::LocalKey::try_with": {
        thread_local!(static LOCAL: u8 = const { 1 });
        LOCAL.try_with(|value| *value)
    };
    "std::thread::LocalKey::with": {
        thread_local!(static LOCAL: u8 = const { 1 });
        LOCAL.with(|value| *value)
    };
    "std::thread::LocalKey::with_borrow": {
        thread_local!(static LOCAL: std::cell::RefCell<u8> = const { std::cell::RefCell::new(1) });
        LOCAL.with_borrow(|value| *value)
    };
    "std::thread::LocalKey::with_borrow_mut": {
        thread_local!(static LOCAL: std::cell::RefCell<u8> = const { std::cell::RefCell::new(1) });
        thread::spawn(|| LOCAL.with_borrow_mut(|value| *value + 1)).join().unwrap()
    };
    "std::thread::Scope::spawn": thread::scope(|scope| scope.spawn(|| 1).join().unwrap());
    "std::thread::ScopedJoinHandle::is_finished": thread::scope(|scope| {
        let child = scope.spawn(|| 1);
        while !child.is_finished() {
            thread::yield_now();
        }
        child.join().unwrap()
    });
    "std::thread::ScopedJoinHandle::join": thread::scope(|scope| scope.spawn(|| 1).join().unwrap());
    "std::thread::ScopedJoinHandle::thread": thread::scope(|scope| {
        scope.spawn(|| 1).thread().name().map(str::to_owned)
    });
    "std::thread::Thread::id": thread::current().id() == thread::current().id();
    "std::thread::Thread::name": {
        let child = thread::Builder::new().name("child".to_owned()).spawn(|| ()).unwrap();
        child.thread().name().map(str::to_owned)
    };
    "std::thread::Thread::unpark": {
        let child = thread::spawn(|| thread::park());
        child.thread().unpark();
        child.join().unwrap()
    };
    "std::thread::ThreadId": {
        let id: thread::ThreadId = thread::current().id();
        thread::spawn(move || thread::current().id() == id).join().unwrap()
    };
    "std::thread::available_parallelism": thread::available_parallelism().is_ok();
    "std::thread::current": thread::current().id() == thread::current().id();
    "std::thread::panicking": thread::panicking();
    "std::thread::park": {
        thread::current().unpark();
        thread::park()
    };
    "std::thread::park_timeout": thread::park_timeout(SOON);
    "std::thread::park_timeout_ms": thread::park_timeout_ms(1);
    "std::thread::scope": thread::scope(|_| 1);
    "std::thread::sleep": thread::sleep(SOON);
    "std::thread::sleep_ms": thread::sleep_ms(1);
    "std::thread::spawn": thread::spawn(|| 1).join().unwrap();
    "std::thread::yield_now": thread::yield_now();

    "std::time::Instant::checked_add": {
        let now = time::Instant::now();
        now.checked_add(SOON).map(|soon| soon > now)
    };
    "std::time::Instant::checked_duration_since": {
        let now = time::Instant::now();
        (now.checked_duration_since(now + SOON), (now + SOON).checked_duration_since(now))
    };
    "std::time::Instant::checked_sub": {
        let now = time::Instant::now();
        now.checked_sub(SOON).map(|before| before < now)
    };
    "std::time::Instant::duration_since": {
        let now = time::Instant::now();
        (now.duration_since(now + SOON), (now + SOON).duration_since(now))
    };
    "std::time::Instant::elapsed": {
        let start = time::Instant::now();
        thread::sleep(SOON);
        start.elapsed() >= SOON
    };
    "std::time::Instant::now": time::Instant::now() <= time::Instant::now();
    "std::time::Instant::saturating_duration_since": {
        let now = time::Instant::now();
        now.saturating_duration_since(now + SOON)
    };
}
